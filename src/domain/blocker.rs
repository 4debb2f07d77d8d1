//! Unmet conditions of `done` and merge.

use super::TaskId;

/// One unmet condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// Its code.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// The command that would clear it.
    pub fix: String,
}

/// The result of evaluating gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateReport {
    /// The task.
    pub task: TaskId,
    /// The blockers; empty when the task is ready.
    pub blockers: Vec<Blocker>,
}

impl GateReport {
    /// Whether there are no blockers.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.blockers.is_empty()
    }
}
