//! Conversions that many views share.

use crate::env::Timestamp;

/// A time in RFC 3339; `None` stays `None`.
pub(super) fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

/// The text of each item.
pub(super) fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}
