//! Printing a failure: a sentence and its hints, or a document, on stderr.

use std::fmt::Write as _;

use super::exit::Exit;
use fairway_core::render::{Meaning, Out, escape_json, escape_line};
use fairway_core::wire::{ErrorDocument, Failure};

/// The longest sentence, in characters: it may repeat a value of any length.
const LONGEST_OF_ALL: usize = 1_000;

/// Prints a failure to stderr. Returns its exit code.
pub(super) fn print_error(failure: &Failure, out: &Out) -> Exit {
    out.write_error(error_text(failure, out).trim_end_matches('\n'));
    failure.kind.exit_code()
}

/// Formats a failure for stderr, with a final newline: as a JSON document with `--json`, else as its message and its hints.
pub(super) fn error_text(failure: &Failure, out: &Out) -> String {
    let failure = &Failure { message: shortened(&failure.message, LONGEST_OF_ALL), ..failure.clone() };
    if out.json {
        let document = ErrorDocument { error: failure };
        let text = serde_json::to_string(&document).unwrap_or_else(|_| escape_line(&failure.message));
        return format!("{}\n", escape_json(text));
    }
    let label = out.stderr_style.paint(Meaning::Bad, "error:");
    let mut text = format!("{label} {}\n", escape_line(&failure.message));
    for hint in failure.hint.iter().flat_map(|hint| hint.lines()) {
        let _ = writeln!(text, "{} {}", out.stderr_style.paint(Meaning::Faint, "hint:"), escape_line(hint));
    }
    text
}

/// Shortens a sentence to about `longest` characters by leaving out its middle.
pub(super) fn shortened(sentence: &str, longest: usize) -> String {
    if sentence.chars().nth(longest).is_none() {
        return sentence.to_owned();
    }
    let head: String = sentence.chars().take(longest * 3 / 4).collect();
    let length = sentence.chars().count();
    let tail: String = sentence.chars().skip(length.saturating_sub(longest / 4)).collect();
    format!("{head} … {tail}")
}
