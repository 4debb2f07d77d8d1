//! Unmet conditions of `done` and merge.

use super::TaskId;

/// One thing that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// Its code.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
    /// The command that would clear it.
    pub fix: String,
}

/// What the gates say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateReport {
    /// The task.
    pub task: TaskId,
    /// Everything that stands in the way; empty when nothing does.
    pub blockers: Vec<Blocker>,
}

impl GateReport {
    /// Whether nothing stands in the way.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.blockers.is_empty()
    }
}
