//! `fairway help …` and the pages that `--help` prints.

pub(super) mod page;
mod topics;

use anyhow::Result;
use clap::builder::StyledStr;

use super::context::Context;
use super::exit::Exit;
use super::short_verbs;
use fairway_actions::upkeep::guide;
use fairway_core::domain::Refusal;
use fairway_core::wire::HelpView;

/// Print the help of a command or topic
///
/// Topics: options, environment, exit-codes, gates, glossary, plumbing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway help claim
fairway help --all")]
pub struct Args {
    /// Command or topic [default: the first screen]
    #[arg(value_name = "TOPIC", conflicts_with = "all")]
    words: Vec<String>,
    /// List every command
    #[arg(long)]
    all: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context, command: clap::Command) -> Result<Exit> {
        let name = self.words.join(" ");
        let styled = |page: StyledStr| if ctx.out.style.is_on() { page.ansi().to_string() } else { page.to_string() };
        let text = match topics::text(&name, &command) {
            Some(text) => text,
            None if self.all => styled(page::all_commands(&command)),
            None => styled(command_page(&command, &self.words).ok_or_else(|| unknown(&name))?),
        };
        ctx.show(&HelpView { topic: name, text: text.clone() }, Vec::new, || text.clone())
    }
}

/// The page of a command, also of a short verb, which is that of the command it stands for.
fn command_page(command: &clap::Command, words: &[String]) -> Option<StyledStr> {
    let path: Vec<&str> = match words {
        [one] => match short_verbs::find(one) {
            Some(verb) => verb.words.iter().take_while(|word| !word.starts_with('-')).copied().collect(),
            None => vec![one],
        },
        words => words.iter().map(String::as_str).collect(),
    };
    page::page(command, &path, true)
}

fn unknown(name: &str) -> anyhow::Error {
    let topic = match guide::find_page(name) {
        Ok(page) => Some(page.topic.to_owned()),
        Err(Refusal::NotFound { near, .. }) => near.into_iter().next(),
        Err(_) => None,
    };
    match topic {
        Some(topic) => Refusal::ArgumentMissing {
            why: format!("no command or help topic '{name}'"),
            hint: format!("read the guide: fairway guide {topic}"),
        }
        .into(),
        None => Refusal::not_found("command or topic", name).into(),
    }
}
