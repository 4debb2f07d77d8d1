//! The short verbs of a person's day. Each stands for words of the tree of commands, which have its arguments and its help.

use std::ffi::OsString;

use clap::{Arg, Args as _, Command};

use super::globals::Globals;
use super::partial_parser::SWITCHES;
use fairway_core::domain::TaskId;

/// A verb that stands for other words.
#[derive(Debug)]
pub struct ShortVerb {
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// The words that it stands for.
    pub words: &'static [&'static str],
}

const fn verb(name: &'static str, about: &'static str, words: &'static [&'static str]) -> ShortVerb {
    ShortVerb { name, about, words }
}

pub const ALL: &[ShortVerb] = &[
    verb("add", "Add a task", &["task", "add"]),
    verb("diff", "Show what a lane has changed since its base", &["lane", "diff"]),
    verb("approve", "Approve submitted work", &["review", "record", "--verdict", "approve"]),
    verb("changes", "Send submitted work back, with a note", &["review", "record", "--verdict", "changes"]),
    verb("stop", "Stop an agent and all its processes", &["session", "stop"]),
    verb("park", "Park an agent until a time", &["session", "park"]),
    verb("unpark", "End the parking of an agent", &["session", "unpark"]),
    verb("relaunch", "Launch an agent again that is over", &["session", "relaunch"]),
    verb("agents", "List the sessions of agents", &["session", "list"]),
    verb("jobs", "List the background jobs", &["exec", "list"]),
];

const REVIEW: &str = "review";
/// What a `review` stands for that no command of it follows.
const REVIEW_NEXT: &[&str] = &["review", "next"];
/// The same before a task's id.
const REVIEW_TASK: &[&str] = &["review", "next", "--task"];

pub fn find(name: &str) -> Option<&'static ShortVerb> {
    ALL.iter().find(|verb| verb.name == name)
}

/// Writes out a short verb in a command line, whose first word is the program. A bare `review`, and one with a task, is `review next`.
pub fn expanded(mut line: Vec<OsString>) -> Vec<OsString> {
    let words: Vec<&str> = line.iter().skip(1).map(|word| word.to_str().unwrap_or_default()).collect();
    if let Some((at, instead)) = replacement(&words) {
        line.splice(at + 1..=at + 1, instead.iter().map(OsString::from));
    }
    line
}

/// As [`expanded`], of the words behind the program.
pub fn expanded_words(words: &[String]) -> Vec<String> {
    let mut expanded = words.to_vec();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some((at, instead)) = replacement(&words) {
        expanded.splice(at..=at, instead.iter().map(ToString::to_string));
    }
    expanded
}

/// The tree of commands with the short verbs as commands, for what lists names.
pub fn with_short_verbs(tree: Command) -> Command {
    ALL.iter().fold(tree, |tree, verb| {
        let mut names = verb.words.iter().take_while(|word| !word.starts_with('-'));
        let meant = names.try_fold(&tree, |above, name| above.find_subcommand(name));
        let Some(meant) = meant.cloned() else { return tree };
        let is_set = |arg: &Arg| arg.get_long().is_some_and(|long| verb.words.contains(&&*format!("--{long}")));
        let meant =
            meant.name(verb.name).about(verb.about).mut_args(|arg| if is_set(&arg) { arg.hide(true) } else { arg });
        tree.subcommand(meant)
    })
}

/// The index of a short verb and the words in its place.
fn replacement(words: &[&str]) -> Option<(usize, &'static [&'static str])> {
    let at = place_of_verb(words)?;
    if let Some(verb) = find(words[at]) {
        return Some((at, verb.words));
    }
    if words[at] != REVIEW {
        return None;
    }
    match words.get(at + 1) {
        None => Some((at, REVIEW_NEXT)),
        Some(task) if TaskId::is_distinct(task) => Some((at, REVIEW_TASK)),
        Some(flag) if flag.starts_with('-') && !matches!(*flag, "-h" | "--help") => Some((at, REVIEW_NEXT)),
        Some(_) => None,
    }
}

/// The index of the command's first word, behind global flags and their values.
fn place_of_verb(words: &[&str]) -> Option<usize> {
    let mut at = 0;
    while let Some(flag) = words.get(at)?.strip_prefix('-') {
        if SWITCHES.contains(&words[at]) {
            at += 1;
            continue;
        }
        if flag == "-" {
            return None;
        }
        at += if takes_value(flag.trim_start_matches('-')) { 2 } else { 1 };
    }
    Some(at)
}

fn takes_value(flag: &str) -> bool {
    let globals = Globals::augment_args(Command::new("fairway"));
    globals.get_arguments().any(|arg| arg.get_long() == Some(flag) && arg.get_action().takes_values())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn each_short_verb_is_no_command_and_stands_for_one() {
        let tree = command();
        for verb in ALL {
            assert!(tree.find_subcommand(verb.name).is_none(), "{} is a command", verb.name);
            let mut at = &tree;
            for word in verb.words.iter().take_while(|word| !word.starts_with('-')) {
                at = at.find_subcommand(word).unwrap_or_else(|| panic!("{}: {word} is no command", verb.name));
            }
            assert!(!at.has_subcommands(), "{}", verb.name);
        }
    }

    #[test]
    fn lines_are_written_out() {
        for (typed, expected) in [
            ("add title", "task add title"),
            ("--json add title", "--json task add title"),
            ("--root add approve T-1", "--root add review record --verdict approve T-1"),
            ("--root=x changes T-1 no", "--root=x review record --verdict changes T-1 no"),
            ("review", "review next"),
            ("review --all", "review next --all"),
            ("review T-4 --all", "review next --task T-4 --all"),
            ("review list T-4", "review list T-4"),
            ("review --help", "review --help"),
            ("send add it", "send add it"),
            ("-- add", "-- add"),
            ("--json", "--json"),
            ("", ""),
        ] {
            let line = |words: &str| -> Vec<OsString> {
                std::iter::once("fairway").chain(words.split_whitespace()).map(OsString::from).collect()
            };
            assert_eq!(expanded(line(typed)), line(expected), "{typed}");
        }
    }
}
