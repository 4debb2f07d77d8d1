//! How a failure is told: one sentence and the next step on stderr, or one JSON document.

use std::ffi::OsString;

use clap::{
    builder::StyledStr,
    error::{ContextKind, ContextValue, ErrorKind},
};
use serde_json::Value;

use super::{
    exit::Exit,
    familiar_names,
    help::page,
    parser::command,
    print_error::{print_error, shortened},
};
use crate::{
    env::Env,
    render::{Out, OutError, Style},
    wire::{Failure, FailureKind},
};

/// The longest sentence about words that could not be read: they may be anything, a megabyte of it too.
const LONGEST: usize = 400;

const MISSING_COMMAND: &str = "a command is missing";

/// Tells what is wrong with words that clap could not read; help and version are results.
pub(super) fn unparsed(error: &clap::Error, words: &[OsString], env: &Env) -> Exit {
    let before_dashes = || words.iter().take_while(|word| *word != "--");
    let out = Out {
        json: before_dashes().any(|word| word == "--json"),
        quiet: false,
        style: Style::choose("auto", env.terminal.stdout, env),
        stderr_style: Style::choose("auto", env.terminal.stderr, env),
        width: None,
    };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let rendered = if error.kind() == ErrorKind::DisplayHelp { help(words) } else { error.render() };
        let text = if env.terminal.stdout { rendered.ansi().to_string() } else { rendered.to_string() };
        return match out.text(&text) {
            Ok(()) | Err(OutError::Closed) => 0,
            Err(error) => print_error(&failure("output", FailureKind::Failure, error.to_string(), None), &out),
        };
    }
    print_error(&usage(error, words), &out)
}

/// The page of the command that the line names.
fn help(words: &[OsString]) -> StyledStr {
    let is_long = words.iter().take_while(|word| *word != "--").any(|word| word == "--help");
    let (path, _) = path(words);
    let path: Vec<&str> = path.split_whitespace().collect();
    page::page(&command(), &path, is_long).unwrap_or_default()
}

/// The failure of a line without a command, outside of a project.
pub(super) fn missing_command() -> Failure {
    failure(
        "usage",
        FailureKind::Usage,
        MISSING_COMMAND.to_owned(),
        Some("list the commands: fairway --help".to_owned()),
    )
}

fn usage(error: &clap::Error, words: &[OsString]) -> Failure {
    let (path, command) = path(words);
    let line = if path.is_empty() { "fairway".to_owned() } else { format!("fairway {path}") };
    let (sentence, hint) = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            (MISSING_COMMAND.to_owned(), format!("list the commands: {line} --help"))
        }
        ErrorKind::InvalidSubcommand => {
            let sentence = sentence(error).replace("unrecognized subcommand", "unknown command");
            (sentence, unknown_command(error, &path, &line, &command))
        }
        ErrorKind::UnknownArgument => (sentence(error), unknown_argument(error, &line, &command)),
        ErrorKind::MissingRequiredArgument | ErrorKind::ArgumentConflict => {
            let usage = usage_line(error).map(|usage| format!("write it as: {usage}"));
            (sentence(error), usage.unwrap_or_else(|| format!("read the help: {line} --help")))
        }
        _ => (sentence(error), format!("read the help: {line} --help")),
    };
    failure("usage", FailureKind::Usage, shortened(&sentence, LONGEST), Some(hint))
}

/// The form of the command, as `fairway task show <ID>`.
fn usage_line(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => {
            let usage = usage.to_string();
            let words: Vec<&str> = usage.trim_start_matches("Usage:").split_whitespace().collect();
            Some(words.join(" "))
        }
        _ => None,
    }
}

/// The first paragraph of clap's text; tips and usage follow it.
fn sentence(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let paragraph: Vec<&str> = rendered.lines().take_while(|line| !line.trim().is_empty()).collect();
    paragraph.join(" ").trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The command that the line names as far as it is known, and its path by canonical names.
fn path(words: &[OsString]) -> (String, clap::Command) {
    let mut at = command();
    let mut path = Vec::new();
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if let Some(flag) = word.strip_prefix('-') {
            let flag = flag.trim_start_matches('-');
            let takes_value =
                at.get_arguments().any(|arg| arg.get_long() == Some(flag) && arg.get_action().takes_values());
            if takes_value {
                words.next();
            }
            continue;
        }
        let Some(below) = at.find_subcommand(word.as_ref()).cloned() else { break };
        path.push(below.get_name().to_owned());
        at = below;
    }
    (path.join(" "), at)
}

fn unknown_command(error: &clap::Error, path: &str, line: &str, command: &clap::Command) -> String {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return format!("list the commands: {line} --help");
    };
    if let Some(hint) = familiar_names::hint(path, typed) {
        return hint;
    }
    let visible = command.get_subcommands().filter(|one| !one.is_hide_set());
    let names = visible.flat_map(|one| std::iter::once(one.get_name()).chain(one.get_visible_aliases()));
    match familiar_names::near(typed, names) {
        Some(near) => format!("did you mean {near}: {line} {near} --help"),
        None => format!("list the commands: {line} --help"),
    }
}

fn unknown_argument(error: &clap::Error, line: &str, command: &clap::Command) -> String {
    let typed = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(typed)) => typed.trim_start_matches('-').to_owned(),
        _ => String::new(),
    };
    let typed = typed.split('=').next().unwrap_or_default();
    let names = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(clap::Arg::get_long);
    match familiar_names::near(typed, names) {
        Some(near) => format!("did you mean --{near}: {line} --help"),
        None => format!("read the help: {line} --help"),
    }
}

const fn failure(code: &'static str, kind: FailureKind, message: String, hint: Option<String>) -> Failure {
    Failure { code, kind, message, hint, retryable: false, details: Value::Null }
}
