//! Kinds of failures, which are the exit codes.

use serde::Serialize;

/// The kind of a failure; its number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum FailureKind {
    /// An internal error or an error of the machine.
    Failure = 1,
    /// Invalid arguments or values.
    Usage = 2,
    /// The object does not exist, or the id is ambiguous.
    NotFound = 3,
    /// Already claimed, stale, an illegal transition.
    Conflict = 4,
    /// Refused by a rule or gate.
    Refused = 5,
    /// No task is ready, or a wait timed out.
    Empty = 6,
    /// An adapter or program failed or timed out, or a sandbox forbids to write the store.
    External = 7,
    /// The store is locked or full.
    Busy = 8,
    /// The project's configuration has not been trusted here.
    Untrusted = 9,
}

impl FailureKind {
    /// The exit code.
    pub const fn exit_code(self) -> u8 {
        self as u8
    }
}
