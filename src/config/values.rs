//! Values that several sections share.

use std::time::Duration;

/// The idle time after which a session is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleAfter {
    /// After this duration.
    After(Duration),
    /// Never.
    Never,
}

/// The message for an unknown value, with every known one.
pub(super) fn unknown_value(word: &str, known: &[&str]) -> String {
    format!("'{}' is none of {}", word.escape_debug(), known.join(", "))
}
