//! How a failure is told: one sentence and the next step on stderr, or one JSON document.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::Value;

use super::exit::Exit;
use super::familiar_names;
use super::help::page;
use super::parser::{Cli, command, command_with};
use super::print_error::{print_error, shortened};
use crate::hooks::Provider;
use fairway_core::domain::TaskId;
use fairway_core::env::Env;
use fairway_core::render::{Out, OutError, Style};
use fairway_core::wire::{Failure, FailureKind};

/// The longest error about a line that clap cannot parse, in characters: the line may have words of any length.
const LONGEST: usize = 400;

/// The command that is asked for one task, too.
const STATUS: &str = "status";

const MISSING_COMMAND: &str = "a command is missing";

/// Prints why clap could not parse `words`, or the help or version that they ask for. Returns the exit code.
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

/// The help page of the command that `words` name.
fn help(words: &[OsString]) -> StyledStr {
    let is_long = words.iter().take_while(|word| *word != "--").any(|word| word == "--help");
    let NamedCommand { path, tree, .. } = NamedCommand::find(words);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    page::page(&tree, &path, is_long).unwrap_or_default()
}

/// What a call without a command prints where there is no project, and so no status to show.
const OUTSIDE: &str = "\
Fairway coordinates coding agents on one repository: tasks wait in a queue, agents
work on them in worktrees of their own, and you review and land what they did.

No project is here. Connect this repository and your agents: fairway setup
See a day of it in a scratch repository: fairway demo
List the commands: fairway --help
";

/// Prints what `fairway` is, when it is called without a command outside a project. Returns the exit code.
pub(super) fn without_command(out: &Out) -> Exit {
    let hint = Some("list the commands: fairway --help".to_owned());
    let missing = failure("usage", FailureKind::Usage, MISSING_COMMAND.to_owned(), hint);
    if out.json {
        return print_error(&missing, out);
    }
    match out.text(OUTSIDE) {
        Ok(()) | Err(OutError::Closed) => FailureKind::Usage.exit_code(),
        Err(error) => print_error(&failure("output", FailureKind::Failure, error.to_string(), None), out),
    }
}

fn usage(error: &clap::Error, words: &[OsString]) -> Failure {
    let NamedCommand { path, command, .. } = NamedCommand::find(words);
    let path = path.join(" ");
    let line = if path.is_empty() { "fairway".to_owned() } else { format!("fairway {path}") };
    let (sentence, hint) = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            (MISSING_COMMAND.to_owned(), format!("list the commands: {line} --help"))
        }
        ErrorKind::InvalidSubcommand => {
            let sentence = sentence(error).replace("unrecognized subcommand", "unknown command");
            (sentence, unknown_command(error, &path, &line, &command, words))
        }
        ErrorKind::UnknownArgument => (sentence(error), unknown_argument(error, &path, &line, &command, words)),
        ErrorKind::MissingRequiredArgument | ErrorKind::ArgumentConflict => {
            let usage = usage_line(error).map(|usage| format!("write it as: {usage}"));
            (sentence(error), usage.unwrap_or_else(|| format!("read the help: {line} --help")))
        }
        ErrorKind::ValueValidation => {
            let value = match error.get(ContextKind::InvalidValue) {
                Some(ContextValue::String(value)) => familiar_names::flag_hint(&path, value),
                _ => None,
            };
            (sentence(error), value.unwrap_or_else(|| format!("read the help: {line} --help")))
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
            Some(words.join(" ").replace(" [OPTIONS]", ""))
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

/// The command that a line names, as far as it is known.
struct NamedCommand {
    /// Its canonical names.
    path: Vec<String>,
    command: clap::Command,
    /// The tree that it is in.
    tree: clap::Command,
}

impl NamedCommand {
    fn find(words: &[OsString]) -> Self {
        let noun = walk(&Cli::command(), words).0.into_iter().next();
        let tree = noun.map_or_else(command, |noun| command_with(&noun));
        let (path, found) = walk(&tree, words);
        Self { path, command: found.clone(), tree }
    }
}

/// The names from the root of a tree to the command that `words` name, and that command. In a tree that is not built, only
/// the first name is found.
fn walk<'t>(tree: &'t clap::Command, words: &[OsString]) -> (Vec<String>, &'t clap::Command) {
    let (mut path, mut at) = (Vec::new(), tree);
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
        let Some(below) = at.find_subcommand(word.as_ref()) else { break };
        path.push(below.get_name().to_owned());
        at = below;
    }
    (path, at)
}

fn unknown_command(error: &clap::Error, path: &str, line: &str, command: &clap::Command, words: &[OsString]) -> String {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return format!("list the commands: {line} --help");
    };
    let rest = words.iter().skip_while(|word| word.to_str() != Some(typed.as_str())).skip(1);
    if let Some(hint) = familiar_names::hint(path, typed, &rest.filter_map(|word| word.to_str()).collect::<Vec<_>>()) {
        return hint;
    }
    if path.is_empty() && TaskId::is_distinct(typed) {
        return format!("show the task: fairway task show {typed}");
    }
    if path.is_empty() && Provider::ALL.iter().any(|provider| provider.label() == typed) {
        return format!("start an agent on a task: fairway start TASK --provider {typed}");
    }
    let visible = command.get_subcommands().filter(|one| !one.is_hide_set());
    let names = visible.flat_map(|one| std::iter::once(one.get_name()).chain(one.get_visible_aliases()));
    match familiar_names::near(typed, names) {
        Some(near) => format!("did you mean {near}: {line} {near} --help"),
        None => format!("list the commands: {line} --help"),
    }
}

fn unknown_argument(
    error: &clap::Error,
    path: &str,
    line: &str,
    command: &clap::Command,
    words: &[OsString],
) -> String {
    let typed = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(typed)) => typed.as_str(),
        _ => "",
    };
    if let Some(hint) = familiar_names::flag_hint(path, typed) {
        return hint;
    }
    if path == STATUS && TaskId::is_distinct(typed) {
        return format!("show the task: fairway task show {typed}");
    }
    let typed_line: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    if let Some(hint) = familiar_names::with_meant_flag(command, typed, &typed_line) {
        return hint;
    }
    // A word too many: the form of the command says what it takes.
    if let Some(usage) = usage_line(error).filter(|_| !typed.starts_with('-')) {
        return format!("write it as: {usage}");
    }
    let typed = typed.trim_start_matches('-');
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{env, fs};

    use super::*;
    use crate::cli::short_verbs;

    /// What the parser says to a line: "runs", or its hint.
    fn answer(tree: &clap::Command, typed: &str) -> String {
        let words = std::iter::once("fairway".to_owned()).chain(shell_words::split(typed).unwrap());
        let words = short_verbs::expanded(words.map(OsString::from).collect());
        match tree.clone().try_get_matches_from(&words) {
            Ok(_) => "runs".to_owned(),
            Err(error) => usage(&error, &words).hint.unwrap_or_default(),
        }
    }

    /// What people type first who know git, gh, tmux, jj, docker or systemctl. Few of it may end in "read the help".
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test is told by a variable to write the file")]
    fn guesses_run_or_are_told_the_whole_command() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/guesses.txt");
        let text = fs::read_to_string(&path).unwrap();
        let typed = text.lines().map(|line| line.split_once(" -> ").map_or(line, |(typed, _)| typed));
        let tree = command();
        let answers: Vec<String> = typed.map(|typed| format!("{typed} -> {}", answer(&tree, typed))).collect();
        let vague = |line: &&String| line.contains("-> list the commands") || line.contains("-> read the help");
        let vague: Vec<&String> = answers.iter().filter(vague).collect();
        assert!(answers.len() >= 250 && vague.len() * 25 <= answers.len(), "{vague:#?}");
        let answers = answers.join("\n") + "\n";
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &answers).unwrap();
        }
        assert!(answers == text, "tests/data/guesses.txt is out of date; UPDATE_DOCS=1 writes it");
    }
}
