//! Warnings of the server on stderr.

use std::io::Write as _;

use fairway_core::domain::secrets::mask;
use fairway_core::render::escape_line;

/// Prints one line to stderr, with secrets masked. Does nothing when stderr is closed.
pub(super) fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "fairway serve: {}", escape_line(&mask(text)));
}
