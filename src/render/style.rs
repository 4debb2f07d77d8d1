//! Colour by meaning.

use crate::env::{Env, vars};

/// The meaning that a colour conveys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// As it should be.
    Good,
    /// Worth a look.
    Notice,
    /// Wrong.
    Bad,
    /// Less important.
    Faint,
    /// A heading.
    Strong,
}

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// `--color always` or `never`; `auto` is for terminals where `NO_COLOR` is unset.
    pub fn choose(choice: &str, is_terminal: bool, env: &Env) -> Self {
        let colour = match choice {
            "always" => true,
            "never" => false,
            _ => is_terminal && env.var(vars::NO_COLOR).is_none() && env.var(vars::TERM) != Some("dumb"),
        };
        Self { colour }
    }

    /// Whether text is coloured.
    pub const fn is_on(self) -> bool {
        self.colour
    }

    /// The text in the colour of its meaning.
    pub fn paint(self, meaning: Meaning, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match meaning {
            Meaning::Good => "32",
            Meaning::Notice => "33",
            Meaning::Bad => "31",
            Meaning::Faint => "2",
            Meaning::Strong => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
