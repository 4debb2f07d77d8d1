//! Submit a task for review.

use anyhow::Result;

use super::transition::{self, Transition};
use crate::{
    actions::{
        Answer, App,
        core::{force_reason::ForceReason, task_worktree},
    },
    domain::{EventKind, TaskId, rules::fencing::TaskWrite},
    store::tasks,
};

/// in_progress → review, by the claimant; the lease is cleared.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`.
pub fn submit(app: &App, id: &TaskId, commit: Option<&str>, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition {
        kind: EventKind::TaskSubmitted,
        intent: TaskWrite::Transition,
        past_tense: "submitted",
        reason: None,
        force,
    };
    let commit = task_worktree::resolve_commit_for(app, id, commit, &["task", "submit"])?;
    transition::perform(app, id, &verb, |tx, task, _| {
        if commit.is_some() {
            tasks::set_work(tx, id, task.branch.as_deref(), commit.as_deref())?;
        }
        Ok(task.submitted()?)
    })
}
