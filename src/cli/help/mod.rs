//! `fairway help …` and the pages that `--help` prints.

pub(super) mod page;
mod topics;

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::{domain::Refusal, wire::HelpView};

/// The last group: commands that scripts and programs call.
pub const PLUMBING: &str = "Plumbing";

/// The groups of `fairway --help` and their commands. Each visible command stands in exactly one.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["setup", "start", "demo", "init", "trust", "session", "help"]),
    ("Work", &["guide", "task", "lane", "ready", "claim", "release", "done", "note", "checkpoint", "exec"]),
    ("Review", &["evidence", "review", "handoff", "merge-ready", "land"]),
    ("Talk", &["send", "prompt", "answer", "inbox"]),
    ("Watch", &["status", "top", "overlap", "approvals", "events", "search", "explain", "usage"]),
    ("Project", &["config", "guard", "doctor", "backup", "restore"]),
    (
        PLUMBING,
        &[
            "adapter",
            "completions",
            "device",
            "hook",
            "host",
            "man",
            "mcp",
            "message",
            "notify",
            "outbox",
            "prime",
            "provider",
            "sandbox",
            "serve",
            "sidecar",
            "skill",
            "store",
        ],
    ),
];

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn each_visible_command_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let command = command();
        let mut visible: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name).collect();
        visible.sort_unstable();
        assert_eq!(grouped, visible);
    }
}
