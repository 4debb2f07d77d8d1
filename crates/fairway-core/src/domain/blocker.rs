//! Unmet conditions of `done` and merge, and why a task is not ready: its unfinished dependencies, and finished ones whose work
//! is not here.

use serde::Serialize;

use super::status::TaskStatus;
use super::{TaskId, commit_id};

/// An unmet gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Blocker {
    /// Its code.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
    /// The command that would clear it.
    pub fix: String,
}

impl Blocker {
    /// Whether a reviewer clears it, by a verdict.
    pub fn is_for_reviewer(&self) -> bool {
        self.code.starts_with("review_") || self.code == "executables_unreviewed"
    }

    /// Whether it may be cleared while a pull request is open: people give their verdict on the pull request.
    pub fn may_be_cleared_at_forge(&self) -> bool {
        self.awaits_review() || self.code.starts_with("pull_request_")
    }

    /// Whether a review is not given yet. A pull request is a draft until then.
    pub fn awaits_review(&self) -> bool {
        matches!(self.code, "review_missing" | "review_lapsed" | "review_requested")
    }
}

/// The work that was judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    /// The work on one line, such as `/p/lane (branch fix, commit 1a2b3c4, base main)`; without a commit, it says `no commit`.
    pub fn summary(&self) -> String {
        let branch = self.branch.as_ref().map(|branch| format!("branch {branch}, ")).unwrap_or_default();
        let short = |commit: &str| format!("commit {}", commit_id::short(commit));
        let commit = self.commit.as_deref().map_or_else(|| "no commit".to_owned(), short);
        format!("{} ({branch}{commit}, base {})", self.worktree, self.base)
    }
}

/// The document of `merge-ready` and of a refused `done`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    /// Makes a report in which the task is ready when `blockers` is empty.
    pub const fn new(task: TaskId, judged: Option<Box<JudgedWork>>, blockers: Vec<Blocker>) -> Self {
        Self { task, ready: blockers.is_empty(), blockers, judged }
    }

    pub const fn is_ready(&self) -> bool {
        self.blockers.is_empty()
    }

    pub fn blockers(&self) -> &[Blocker] {
        &self.blockers
    }

    pub fn into_blockers(self) -> Vec<Blocker> {
        self.blockers
    }

    /// Leaves out the blockers that may be cleared while the pull request is open.
    #[must_use]
    pub fn for_proposal(mut self) -> Self {
        self.blockers.retain(|one| !one.may_be_cleared_at_forge());
        Self::new(self.task, self.judged, self.blockers)
    }

    /// Adds blockers: one before those of the report, the others after them.
    #[must_use]
    pub fn with_blockers(self, before: Option<Blocker>, behind: Vec<Blocker>) -> Self {
        let blockers = before.into_iter().chain(self.blockers).chain(behind).collect();
        Self::new(self.task, self.judged, blockers)
    }
}

/// One thing that a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schemas", schemars(rename = "Waiting"))]
pub struct NotReadyReason {
    /// `dep_open`, `dep_cancelled`, `dep_absent` or `dep_elsewhere`; in `ready --why` also `held` and `review_full`.
    pub code: &'static str,
    /// The dependency; for the other codes the task itself.
    pub id: TaskId,
    /// A sentence.
    pub message: String,
    /// The command that clears it, with its purpose: `fetch it: git fetch origin`.
    #[serde(skip)]
    pub fix: Option<String>,
}

impl NotReadyReason {
    /// Why a task waits for a dependency with this status; `None` as the status means that the store lacks the dependency.
    /// Returns `None` when the dependency is done.
    pub fn for_dependency(id: TaskId, status: Option<TaskStatus>) -> Option<Self> {
        let (code, message) = match status {
            Some(TaskStatus::Done) => return None,
            Some(TaskStatus::Cancelled) => ("dep_cancelled", format!("{id} was cancelled, so it will not be done")),
            Some(status) => ("dep_open", format!("{id} is {status}")),
            None => ("dep_absent", format!("{id} is not in this store")),
        };
        Some(Self { code, id, message, fix: None })
    }

    /// The blocker for a dependency that landed on another host, with a commit that this host's base does not contain.
    pub fn landed_elsewhere(id: TaskId, host: &str, short_commit: &str, fix: String) -> Self {
        let message = format!("{id} is landed on {host} as {short_commit}, not here");
        Self { code: "dep_elsewhere", id, message, fix: Some(fix) }
    }
}
