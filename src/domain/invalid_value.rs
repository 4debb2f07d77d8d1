//! The error of a parser that reads one value.

use thiserror::Error;

/// A value outside its alphabet or limits. It becomes [`Refusal::Invalid`](super::Refusal::Invalid), which imports the
/// ids that are parsed and therefore cannot be what their parsers return.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} {why}")]
pub struct InvalidValue {
    /// The kind of value, as messages name it.
    pub what: &'static str,
    /// The excerpt of the value and the rule that it breaks.
    pub why: String,
}
