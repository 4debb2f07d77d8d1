//! Conversions that many views share.

use crate::env::Timestamp;

/// Formats a time as RFC 3339. `None` stays `None`.
pub(super) fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

pub(super) fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}
