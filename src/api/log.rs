//! What is worth telling whoever looks at the server: a line on stderr.

use std::io::Write as _;

use crate::{domain::secrets::mask, render::escape_line};

/// Tells it. Nobody need listen.
pub(super) fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "fairway serve: {}", escape_line(&mask(text)));
}
