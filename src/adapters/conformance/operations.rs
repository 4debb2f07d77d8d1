//! The operations of the exec session protocol, as far as the suite needs their names.

/// Every operation of the protocol, and what stands for all that are none.
pub const OPERATIONS: &[&str] = &[
    "start",
    "stop",
    "interrupt",
    "is-running",
    "attach",
    "process-alive",
    "nudge",
    "send-keys",
    "set-meta",
    "get-meta",
    "remove-meta",
    "peek",
    "list-running",
    "get-last-activity",
    "clear-scrollback",
    "copy-to",
    "check-image",
    "is-attached",
    "protocol",
    UNKNOWN,
];

/// What stands for every operation that is none.
pub(super) const UNKNOWN: &str = "unknown";
/// Without these there is no session.
pub(super) const REQUIRED: &[&str] = &["start", "stop", "is-running"];
