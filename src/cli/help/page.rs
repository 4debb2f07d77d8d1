//! The layout of help pages: groups at the top level, compact argument lists, examples, and no global options below.

use std::fmt::Write as _;

use clap::{
    Command,
    builder::{StyledStr, Styles},
};

use super::{
    examples,
    groups::{GROUPS, PLUMBING},
    topics,
};

/// Where the global options are listed.
const GLOBAL_OPTIONS: &str = "Global options: fairway help options";
/// The width of the column of command names.
const NAME_WIDTH: usize = 13;
/// The widest line of a list of names.
const LINE_WIDTH: usize = 78;

/// A command's page: the whole program for an empty path. `None` for a path that is no command. The tree must be built.
/// `is_long` for `--help`, else for `-h`.
pub fn page(command: &Command, path: &[&str], is_long: bool) -> Option<StyledStr> {
    if path.is_empty() {
        return Some(StyledStr::from(top_level(command, is_long)));
    }
    Some(laid_out(command, path, is_long)?.render_help())
}

/// A command with its long text, examples and without the global options.
pub fn laid_out(command: &Command, path: &[&str], is_long: bool) -> Option<Command> {
    // The names may be aliases.
    let mut names = Vec::new();
    let mut found = command;
    for name in path {
        found = found.find_subcommand(name)?;
        names.push(found.get_name());
    }
    let mut command = found.clone();
    let mut after = String::new();
    let lines = examples::of(&names.join(" "));
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

/// The page of the whole program.
fn top_level(command: &Command, is_long: bool) -> String {
    let styles: &Styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = wrapped(about.split_whitespace(), "", "");
    let _ = writeln!(text, "\n{header}Usage:{header:#} {literal}fairway [OPTIONS] <COMMAND>{literal:#}");
    for (heading, names) in GROUPS {
        if *heading == PLUMBING {
            continue;
        }
        let _ = writeln!(text, "\n{header}{heading}:{header:#}");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:<NAME_WIDTH$}{literal:#}{about}");
        }
    }
    if is_long && let Some((heading, names)) = GROUPS.last() {
        let _ = writeln!(text, "\n{header}{heading}:{header:#} fairway help plumbing");
        // A reader looks for the word, which the name does not have.
        let names = names.iter().map(|name| if *name == "serve" { "serve (worker API)" } else { name });
        text.push_str(&wrapped(names, "  ", ","));
    }
    // The long page fits a terminal of sixty lines.
    let gap = if is_long { "" } else { "\n" };
    let _ = writeln!(text, "{gap}Topics: fairway help {}", topics::NAMES.join("|"));
    text
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
