//! A gate report as a document.

use serde::Serialize;

use crate::domain::{
    commit_id,
    rules::gate::{GateReport, JudgedWork},
};

/// The document of `merge-ready` and of a refused `done`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GateReportView {
    /// The task.
    pub task_id: String,
    /// Whether there is no blocker.
    pub ready: bool,
    /// The unmet gates.
    pub blockers: Vec<BlockerView>,
    /// The work that was judged; null when no worktree is known.
    pub judged: Option<JudgedWorkView>,
}

/// The work that was judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JudgedWorkView {
    /// The worktree's directory.
    pub worktree: String,
    /// Its branch; null on a commit without a branch, and without git.
    pub branch: Option<String>,
    /// The base branch.
    pub base: String,
    /// The commit; null when it is unknown.
    pub commit: Option<String>,
}

impl From<&JudgedWork> for JudgedWorkView {
    fn from(work: &JudgedWork) -> Self {
        Self {
            worktree: work.worktree.clone(),
            branch: work.branch.clone(),
            base: work.base.clone(),
            commit: work.commit.clone(),
        }
    }
}

impl JudgedWorkView {
    /// The work in a line: worktree, branch, commit and base.
    pub fn summary(&self) -> String {
        let branch = self.branch.as_ref().map(|branch| format!("branch {branch}, ")).unwrap_or_default();
        let short = |commit: &str| format!("commit {}", commit_id::short(commit));
        let commit = self.commit.as_deref().map_or_else(|| "no commit".to_owned(), short);
        format!("{} ({branch}{commit}, base {})", self.worktree, self.base)
    }
}

/// An unmet gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BlockerView {
    /// Its code.
    pub code: String,
    /// A sentence.
    pub message: String,
    /// The command that would clear it.
    pub fix: String,
}

impl From<&GateReport> for GateReportView {
    fn from(report: &GateReport) -> Self {
        Self {
            task_id: report.task.to_string(),
            ready: report.is_ready(),
            judged: report.judged.as_deref().map(JudgedWorkView::from),
            blockers: report
                .blockers
                .iter()
                .map(|one| BlockerView { code: one.code.into(), message: one.message.clone(), fix: one.fix.clone() })
                .collect(),
        }
    }
}
