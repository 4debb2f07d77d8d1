//! The names of the operations of the exec session protocol.

/// Every operation of the protocol, and [`UNKNOWN`].
pub const OPERATIONS: &[&str] = &[
    "start", "stop", "interrupt", "is-running", "attach", "process-alive", "nudge", "send-keys", "set-meta",
    "get-meta", "remove-meta", "peek", "list-running", "get-last-activity", "clear-scrollback", "copy-to",
    "check-image", "is-attached", "protocol", UNKNOWN,
];

/// Stands for any unknown operation.
pub(super) const UNKNOWN: &str = "unknown";
/// The operations that every script must support.
pub(super) const REQUIRED: &[&str] = &["start", "stop", "is-running"];
