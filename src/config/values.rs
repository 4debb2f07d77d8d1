//! Values that several sections share.

use std::time::Duration;

/// How long a session may be silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleAfter {
    /// This long.
    After(Duration),
    /// For ever.
    Never,
}

/// A sentence that names every known word.
pub(super) fn unknown_value(word: &str, known: &[&str]) -> String {
    format!("'{}' is none of {}", word.escape_debug(), known.join(", "))
}
