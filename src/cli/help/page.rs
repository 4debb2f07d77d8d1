//! The layout of help pages: groups at the top level, compact argument lists, examples, and no global options below.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::{StyledStr, Styles};

use super::topics::{self, FIRST_SCREEN, GROUPS, PLUMBING};
use crate::cli::short_verbs;
use crate::hooks::Provider;

/// The placeholder in examples for a provider's name, which only the code of the hooks knows.
const PROVIDER: &str = "{provider}";
/// Where the global options are listed.
const GLOBAL_OPTIONS: &str = "Global options: fairway help options";
/// The width of the column of command names.
const NAME_WIDTH: usize = 13;
/// The widest line of a list of names.
const LINE_WIDTH: usize = 78;

/// Renders the help page of the command at `path`; an empty path means the first screen. Returns `None` when there is no such
/// command. The caller must have built `command`. `is_long` selects the text of `--help`, else that of `-h`.
pub fn page(command: &Command, path: &[&str], is_long: bool) -> Option<StyledStr> {
    if path.is_empty() {
        return Some(StyledStr::from(first_screen(command)));
    }
    Some(laid_out(command, path, is_long)?.render_help())
}

/// Prepares the command at `path` for its help page: adds the long text if `is_long`, and the examples, and hides the global
/// options. Returns `None` when there is no such command.
pub fn laid_out(command: &Command, path: &[&str], is_long: bool) -> Option<Command> {
    // The names may be aliases.
    let mut names = vec!["fairway"];
    let mut found = command;
    for name in path {
        found = found.find_subcommand(name)?;
        names.push(found.get_name());
    }
    let mut command = found.clone();
    let mut after = String::new();
    let lines = examples(&command, &names.join(" "));
    if !lines.is_empty() {
        let header = command.get_styles().get_header();
        let _ = writeln!(after, "{header}Examples:{header:#}");
        for line in lines {
            let _ = writeln!(after, "  {line}");
        }
        after.push('\n');
    }
    after.push_str(GLOBAL_OPTIONS);
    if let Some(about) = command.get_long_about().filter(|_| is_long).cloned() {
        command = command.about(about);
    }
    Some(command.after_help(after).mut_args(|arg| {
        let is_global = arg.is_global_set();
        let arg = if arg.get_id() == "help" { arg.help("Print help") } else { arg };
        arg.hide(is_global)
    }))
}

/// The examples of a command: the lines of its `after_help` that begin with `path`. A command that has two paths has the
/// examples of both there.
fn examples(command: &Command, path: &str) -> Vec<String> {
    let provider = Provider::ALL.first().map(|provider| provider.label()).unwrap_or_default();
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    text.lines().filter(|line| line.starts_with(path)).map(|line| line.replace(PROVIDER, provider)).collect()
}

/// What the program is, and the line of its usage.
fn head(command: &Command) -> String {
    let styles: &Styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = wrapped(about.split_whitespace(), "", "");
    let _ = writeln!(text, "\n{header}Usage:{header:#} {literal}fairway [OPTIONS] <COMMAND>{literal:#}");
    text
}

/// The commands of a person's day.
fn first_screen(command: &Command) -> String {
    let literal = command.get_styles().get_literal();
    let mut text = head(command) + "\n";
    for (name, about) in FIRST_SCREEN {
        let _ = writeln!(text, "  {literal}{name:<NAME_WIDTH$}{literal:#}{about}");
    }
    text.push_str("\nAll commands: fairway help --all. What an agent does: fairway guide\n");
    let _ = writeln!(text, "Topics: fairway help {}", topics::NAMES.join("|"));
    text
}

/// Every command, by group.
pub fn all_commands(command: &Command) -> StyledStr {
    let styles: &Styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = head(command);
    for (heading, names) in GROUPS.iter().filter(|(heading, _)| *heading != PLUMBING) {
        let _ = writeln!(text, "\n{header}{heading}:{header:#}");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<NAME_WIDTH$}{literal:#}{about}");
        }
    }
    let _ = writeln!(text, "\n{header}Short for:{header:#}");
    for verb in short_verbs::ALL {
        let _ = writeln!(text, "  {literal}{:<NAME_WIDTH$}{literal:#}fairway {}", verb.name, verb.words.join(" "));
    }
    if let Some((heading, names)) = GROUPS.last() {
        let _ = writeln!(text, "\n{header}{heading}:{header:#} fairway help plumbing");
        // A reader looks for the word, which the name does not have.
        let names = names.iter().map(|name| if *name == "serve" { "serve (worker API)" } else { name });
        text.push_str(&wrapped(names, "  ", ","));
    }
    StyledStr::from(text)
}

/// Words as lines of at most [`LINE_WIDTH`].
fn wrapped<'a>(words: impl Iterator<Item = &'a str>, indent: &str, separator: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + separator.len() + 1 + word.len() <= LINE_WIDTH => {
                let _ = write!(line, "{separator} {word}");
            }
            _ => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join(&format!("{separator}\n")) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    fn visible<'a>(command: &'a Command, above: &str, found: &mut Vec<(String, &'a Command)>) {
        for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let path = format!("{above} {}", below.get_name());
            visible(below, &path, found);
            found.push((path, below));
        }
    }

    #[test]
    fn each_visible_command_has_one_or_two_examples_that_call_it() {
        let (whole, mut commands) = (command(), Vec::new());
        visible(&whole, "fairway", &mut commands);
        for (_, below) in &commands {
            for line in examples(below, "") {
                let is_shown = |(path, below): &(String, &Command)| examples(below, path).contains(&line);
                assert!(commands.iter().any(is_shown), "{line} is on no page");
            }
        }
        for (path, below) in commands {
            let lines = examples(below, &path);
            assert!((1..=2).contains(&lines.len()), "{path}");
            for line in lines {
                assert!(line.len() <= 78, "{line}");
                let words = shell_words::split(&line).unwrap();
                if let Err(error) = command().try_get_matches_from(&words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}
