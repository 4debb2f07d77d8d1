//! Unmet conditions of `done` and merge.

use super::TaskId;

/// One unmet condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    pub code: &'static str,
    pub message: String,
    /// The command that would clear it.
    pub fix: String,
}

/// The work that was judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JudgedWork {
    /// The worktree's directory.
    pub worktree: String,
    /// Its branch; `None` on a commit without a branch, and without git.
    pub branch: Option<String>,
    /// The branch that the work must be based on.
    pub base: String,
    /// The commit; `None` when it is unknown.
    pub commit: Option<String>,
}

/// The result of evaluating gates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateReport {
    pub task: TaskId,
    /// The work that was judged; `None` when no worktree is known.
    pub judged: Option<Box<JudgedWork>>,
    /// The blockers; empty when the task is ready.
    pub blockers: Vec<Blocker>,
}

impl GateReport {
    /// Whether there are no blockers.
    pub const fn is_ready(&self) -> bool {
        self.blockers.is_empty()
    }
}
