//! Printing a failure: a sentence and its hints, or a document, on stderr.

use super::exit::Exit;
use crate::{
    render::{Meaning, Out, escape_json, escape_line},
    wire::{ErrorDocument, Failure},
};

/// The longest sentence, in characters: it may repeat a value of any length.
const LONGEST_OF_ALL: usize = 1_000;

/// Prints a failure. Returns its exit code.
pub(super) fn print_error(failure: &Failure, out: &Out) -> Exit {
    let failure = &Failure { message: shortened(&failure.message, LONGEST_OF_ALL), ..failure.clone() };
    if out.json {
        let document = ErrorDocument { error: failure };
        let text = serde_json::to_string(&document).unwrap_or_else(|_| escape_line(&failure.message));
        out.write_error(&escape_json(text));
    } else {
        let label = out.stderr_style.paint(Meaning::Bad, "error:");
        out.write_error(&format!("{label} {}", escape_line(&failure.message)));
        for hint in failure.hint.iter().flat_map(|hint| hint.lines()) {
            out.write_error(&format!("{} {}", out.stderr_style.paint(Meaning::Faint, "hint:"), escape_line(hint)));
        }
    }
    failure.kind.exit_code()
}

/// A sentence of at most this many characters, with its middle left out.
pub(super) fn shortened(sentence: &str, longest: usize) -> String {
    if sentence.chars().nth(longest).is_none() {
        return sentence.to_owned();
    }
    let head: String = sentence.chars().take(longest * 3 / 4).collect();
    let length = sentence.chars().count();
    let tail: String = sentence.chars().skip(length.saturating_sub(longest / 4)).collect();
    format!("{head} … {tail}")
}
