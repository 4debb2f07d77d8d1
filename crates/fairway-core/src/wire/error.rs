//! Errors as documents, and their exit codes.

use serde::Serialize;
use serde_json::Value;

pub use crate::domain::refusal::FailureKind;

/// A classified failure: what happened, whose turn it is, and what to type next.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The stable code.
    pub code: &'static str,
    /// The kind.
    pub kind: FailureKind,
    /// The event and its reason, lower case, one sentence.
    pub message: String,
    /// The next command to type, or what else helps.
    pub hint: Option<String>,
    /// Whether the same call may work later.
    pub retryable: bool,
    /// Particulars by code; an object, or null.
    pub details: Value,
}

/// The failure of one of several ids, in the array of the answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FailedIdView {
    /// The id.
    pub id: String,
    /// The failure.
    pub error: Failure,
}

/// The document on stderr with `--json`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ErrorDocument<'a> {
    /// The failure.
    pub error: &'a Failure,
}
