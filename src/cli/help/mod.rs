//! `fairway help …` and the pages that `--help` prints.

pub(super) mod page;
mod topics;

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::{domain::Refusal, wire::HelpView};

/// Print the help of a command or topic
///
/// Topics: options, environment, exit-codes, gates, glossary, plumbing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway help claim
fairway help glossary")]
pub struct Args {
    /// Command or topic [default: the whole program]
    #[arg(value_name = "TOPIC")]
    words: Vec<String>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context, command: clap::Command) -> Result<Exit> {
        let name = self.words.join(" ");
        let text = match topics::text(&name, &command) {
            Some(text) => text,
            None => {
                let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
                let page = page::page(&command, &words, true);
                let page = page.ok_or_else(|| Refusal::not_found("command or topic", name.clone()))?;
                if ctx.out.style.is_on() { page.ansi().to_string() } else { page.to_string() }
            }
        };
        ctx.show(&HelpView { topic: name, text: text.clone() }, Vec::new, || text.clone())
    }
}
