//! The watchers of a job's output.

use super::{id::Label, string_enum::string_enum};

string_enum! {
    /// The stream that is watched.
    WatchScope { Stdout => "stdout", Stderr => "stderr", Both => "both" }
}

/// How many watchers a run has at most.
pub const MAX_WATCHERS: usize = 16;
/// How long a watcher's expression is at most, in bytes.
pub const MAX_REGEX_BYTES: usize = 256;

/// Something to look for in each line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watcher {
    /// The expression.
    pub regex: String,
    /// The name of a match.
    pub event: Label,
    /// Whether the first match is the last one that counts.
    pub once: bool,
    /// The stream that is watched.
    pub scope: WatchScope,
}
