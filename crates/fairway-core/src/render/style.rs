//! Colour by meaning, and the colours of status words in a table.

use crate::env::{Env, vars};

/// The meaning that a colour conveys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// As it should be.
    Good,
    Notice,
    Bad,
    Faint,
    Strong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// Decides by the value of `--color`. Any value but `always` and `never` means colour on a terminal that can show it, unless
    /// `NO_COLOR` is set.
    pub fn choose(choice: &str, is_terminal: bool, env: &Env) -> Self {
        let colour = match choice {
            "always" => true,
            "never" => false,
            _ => is_terminal && env.var(vars::NO_COLOR).is_none() && env.var(vars::TERM) != Some("dumb"),
        };
        Self { colour }
    }

    pub const fn is_on(self) -> bool {
        self.colour
    }

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

/// The headings of the columns whose words have colours. A colour repeats a word and never stands for it.
const HEADINGS: [&str; 5] = ["STATUS", "ACTIVITY", "STATE", "VERDICT", "RESULT"];

fn meaning_of(word: &str) -> Option<Meaning> {
    match word {
        "stale" | "failed" | "lost" | "timed_out" | "denied" | "fail" | "reject" => Some(Meaning::Bad),
        "requires_action" | "awaiting_input" | "blocked" | "changes" | "paused" => Some(Meaning::Notice),
        "done" | "cancelled" | "canceled" | "ended" | "closed" => Some(Meaning::Faint),
        _ => None,
    }
}

/// Colours the status words of a rendered table, whose first line must be the headings.
pub(super) fn colour_status(table: &str, style: Style) -> String {
    let mut lines = table.lines();
    let Some(headings) = lines.next().filter(|_| style.is_on()) else { return table.to_owned() };
    let mut starts: Vec<usize> =
        words(headings).filter(|(_, word)| HEADINGS.contains(&word.as_str())).map(|(start, _)| start).collect();
    // From the right: a colour moves what stands behind it.
    starts.reverse();
    let mut text = format!("{headings}\n");
    for line in lines {
        let mut line = line.to_owned();
        for start in &starts {
            // A wide character before the column moves it: then its words keep no colour.
            let found = words(&line).find(|(at, _)| at == start).and_then(|(_, word)| Some((meaning_of(&word)?, word)));
            if let Some((meaning, word)) = found {
                let before: String = line.chars().take(*start).collect();
                let after: String = line.chars().skip(start + word.chars().count()).collect();
                line = format!("{before}{}{after}", style.paint(meaning, &word));
            }
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The words of a line with their places in characters.
fn words(line: &str) -> impl Iterator<Item = (usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, character) in line.chars().enumerate() {
        match found.last_mut() {
            _ if character == ' ' => {}
            Some((start, word)) if *start + word.chars().count() == at => word.push(character),
            _ => found.push((at, String::from(character))),
        }
    }
    found.into_iter()
}
