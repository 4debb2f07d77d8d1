//! Texts that begin with a hyphen, as list items do: `fairway note "- done"`. A word that cannot be a flag, because its name
//! would hold a space, is marked as a text, and the arguments that take a text or a path remove the mark. Everything else is
//! parsed as ever.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, StringValueParser, TypedValueParser, ValueParser};

/// No argument of a program can contain a NUL.
const MARK: char = '\0';

/// Marks each word that begins with a hyphen but cannot be a flag, because the name of the flag would contain a space, so
/// that clap reads it as a text. Words after `--` stay as they are. Returns `None` when there is no such word.
pub(super) fn marked(words: &[OsString]) -> Option<Vec<OsString>> {
    let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let is_text = |(at, word): (usize, &OsString)| at < own && is_text(&word.to_string_lossy());
    words.iter().enumerate().any(is_text).then(|| {
        let mark = |(at, word): (usize, &OsString)| {
            let mut marked = OsString::from(if is_text((at, word)) { MARK.to_string() } else { String::new() });
            marked.push(word);
            marked
        };
        words.iter().enumerate().map(mark).collect()
    })
}

fn is_text(word: &str) -> bool {
    word.starts_with('-') && word.split('=').next().is_some_and(|name| name.contains(char::is_whitespace))
}

/// Makes every argument that takes a text or a path accept marked words and remove the mark.
pub(super) fn accepting(command: clap::Command) -> clap::Command {
    let accept = |arg: clap::Arg| match arg {
        arg if takes_text(&arg) => arg.value_parser(unmarked()),
        arg if arg.get_value_parser().type_id() == ValueParser::path_buf().type_id() => {
            arg.value_parser(unmarked_path())
        }
        arg => arg,
    };
    command.mut_args(accept).mut_subcommands(accepting)
}

fn takes_text(arg: &clap::Arg) -> bool {
    let is_named = |name: &str| name.split(['|', ' ']).any(|word| matches!(word, "TEXT" | "TITLE"));
    let is_string = arg.get_value_parser().type_id() == ValueParser::string().type_id();
    let names = arg.get_value_names().unwrap_or_default();
    is_string && (arg.get_id() == "text" || names.iter().any(|name| is_named(name)))
}

fn unmarked() -> ValueParser {
    let unmark = |text: String| text.strip_prefix(MARK).map(str::to_owned).unwrap_or(text);
    StringValueParser::new().map(unmark).into()
}

fn unmarked_path() -> ValueParser {
    let unmark = |word: OsString| match word.as_bytes() {
        [0, path @ ..] => PathBuf::from(OsStr::from_bytes(path)),
        _ => PathBuf::from(word),
    };
    OsStringValueParser::new().map(unmark).into()
}
