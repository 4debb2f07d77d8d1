//! A parser of one command alone. In the whole tree each of more than a hundred commands gets a copy of every global option,
//! which costs a short command more than its own work.

use std::ffi::OsString;

use clap::{Args as _, Command, Subcommand as _};

use super::globals::Globals;
use super::{
    checkpoint, claim, events, evidence, exec, handoff, hook, inbox, lane, mcp, message, note, prime, ready, release,
    review, send, session, status, task,
};

/// Switches that may stand before the command.
pub(super) const SWITCHES: &[&str] = &["--json", "--quiet", "-q"];

/// Adds the arguments, or the subcommands, of one command to it.
type Augment = fn(Command) -> Command;

/// The commands that people and agents call all day, by name.
const COMMANDS: &[(&str, Augment)] = &[
    ("claim", claim::Args::augment_args),
    ("done", task::DoneArgs::augment_args),
    ("events", events::Args::augment_args),
    ("hook", hook::Args::augment_args),
    ("inbox", inbox::Args::augment_args),
    ("mcp", mcp::Args::augment_args),
    ("note", note::Args::augment_args),
    ("prime", prime::Args::augment_args),
    ("ready", ready::Args::augment_args),
    ("release", release::Args::augment_args),
    ("send", send::Args::augment_args),
    ("status", status::Args::augment_args),
];

/// The groups of commands, by name.
const GROUPS: &[(&str, Augment)] = &[
    ("checkpoint", checkpoint::Verb::augment_subcommands),
    ("evidence", evidence::Verb::augment_subcommands),
    ("exec", exec::Verb::augment_subcommands),
    ("handoff", handoff::Verb::augment_subcommands),
    ("lane", lane::Verb::augment_subcommands),
    ("message", message::Verb::augment_subcommands),
    ("review", review::Verb::augment_subcommands),
    ("session", session::Verb::augment_subcommands),
    ("task", task::Verb::augment_subcommands),
];

/// Builds a parser of the global options and of the one command that `words` name. Returns `None` when `words` name no
/// command of `COMMANDS` and `GROUPS`. The parser accepts a line exactly as the whole tree does, but has no help and only
/// short error messages: when it refuses a line, the caller must parse that line with the whole tree.
pub(super) fn of(words: &[OsString]) -> Option<Command> {
    let words = words.iter().skip(1).map(|word| word.to_str());
    let mut words = words.skip_while(|word| word.is_some_and(|word| SWITCHES.contains(&word)));
    let name = words.next()??;
    let find = |all: &[(&'static str, Augment)]| all.iter().find(|(known, _)| *known == name).copied();
    let verb = match (find(COMMANDS), find(GROUPS)) {
        (Some((name, augment)), _) => augment(Command::new(name)),
        (None, Some((name, augment))) => {
            let group = augment(Command::new(name));
            Command::new(name).subcommand(group.find_subcommand(words.next()??)?.clone())
        }
        (None, None) => return None,
    };
    Some(Globals::augment_args(Command::new("fairway")).disable_help_subcommand(true).subcommand(verb))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    /// All that a parser knows of the arguments of a command.
    fn arguments(command: &Command) -> Vec<String> {
        command
            .get_arguments()
            .filter(|arg| !arg.is_global_set() && arg.get_id() != "help")
            .map(|arg| format!("{arg:?}"))
            .collect()
    }

    #[test]
    fn each_command_has_the_arguments_that_it_has_in_the_whole_tree() {
        let whole = command();
        let part = |words: &[&str]| {
            let words: Vec<OsString> = ["fairway", "--json"].iter().chain(words).map(OsString::from).collect();
            let mut part = of(&words).unwrap();
            part.build();
            part
        };
        let mut compared = 0;
        for (name, _) in COMMANDS {
            let whole = whole.find_subcommand(name).unwrap();
            assert_eq!(arguments(part(&[name]).find_subcommand(name).unwrap()), arguments(whole), "{name}");
            compared += 1;
        }
        for (name, _) in GROUPS {
            for below in whole.find_subcommand(name).unwrap().get_subcommands() {
                let found = part(&[name, below.get_name()]);
                let found = found.find_subcommand(name).unwrap().find_subcommand(below.get_name()).unwrap();
                assert_eq!(arguments(found), arguments(below), "{name} {}", below.get_name());
                let names = |command: &Command| {
                    command.get_subcommands().map(|one| one.get_name().to_owned()).collect::<Vec<_>>()
                };
                assert_eq!(names(found), names(below), "{name} {}", below.get_name());
                compared += 1;
            }
        }
        assert!(compared > 60, "{compared}");
    }

    #[test]
    fn other_words_are_parsed_by_the_whole_tree() {
        for words in
            [&[][..], &["--root", ".", "ready"], &["readu"], &["task"], &["task", "lst"], &["help"], &["--", "ready"]]
        {
            let words: Vec<OsString> = ["fairway"].iter().chain(words).map(OsString::from).collect();
            assert!(of(&words).is_none(), "{words:?}");
        }
    }
}
