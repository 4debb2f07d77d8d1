//! Unmet conditions of `done` and merge.

use serde::Serialize;

use super::{TaskId, commit_id};

/// An unmet gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Blocker {
    /// Its code.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
    /// The command that would clear it.
    pub fix: String,
}

/// The work that was judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JudgedWork {
    /// The worktree's directory.
    pub worktree: String,
    /// Its branch; null on a commit without a branch, and without git.
    pub branch: Option<String>,
    /// The base branch.
    pub base: String,
    /// The commit; null when it is unknown.
    pub commit: Option<String>,
}

impl JudgedWork {
    /// The work in a line: worktree, branch, commit and base.
    pub fn summary(&self) -> String {
        let branch = self.branch.as_ref().map(|branch| format!("branch {branch}, ")).unwrap_or_default();
        let short = |commit: &str| format!("commit {}", commit_id::short(commit));
        let commit = self.commit.as_deref().map_or_else(|| "no commit".to_owned(), short);
        format!("{} ({branch}{commit}, base {})", self.worktree, self.base)
    }
}

/// The document of `merge-ready` and of a refused `done`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GateReport {
    /// The task.
    #[serde(rename = "task_id")]
    pub task: TaskId,
    /// Whether there is no blocker.
    ready: bool,
    /// The unmet gates.
    blockers: Vec<Blocker>,
    /// The work that was judged; null when no worktree is known.
    pub judged: Option<Box<JudgedWork>>,
}

impl GateReport {
    /// The report of a task with these blockers.
    pub const fn new(task: TaskId, judged: Option<Box<JudgedWork>>, blockers: Vec<Blocker>) -> Self {
        Self { task, ready: blockers.is_empty(), blockers, judged }
    }

    /// Whether there is no blocker.
    pub const fn is_ready(&self) -> bool {
        self.blockers.is_empty()
    }

    /// The unmet gates.
    pub fn blockers(&self) -> &[Blocker] {
        &self.blockers
    }

    /// The unmet gates, without the report.
    pub fn into_blockers(self) -> Vec<Blocker> {
        self.blockers
    }

    /// This report with more blockers, before and behind its own.
    #[must_use]
    pub fn with_blockers(self, before: Option<Blocker>, behind: Vec<Blocker>) -> Self {
        let blockers = before.into_iter().chain(self.blockers).chain(behind).collect();
        Self::new(self.task, self.judged, blockers)
    }
}
