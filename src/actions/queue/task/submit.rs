//! Submit a task for review.

use anyhow::Result;

use super::transition::{self, Transition};
use crate::{
    actions::{
        Answer, App,
        core::{force_reason::ForceReason, lookup},
        queue::task_worktree,
    },
    domain::{
        EventKind, TaskId, commit_id,
        rules::fencing::TaskWrite,
        task::{Task, TaskStatus},
    },
    store::{WriteTx, tasks},
};

/// in_progress → review, by the claimant; the lease is cleared. Submitted work with another commit is submitted again.
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
    transition::check_reasons(&verb)?;
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        match commit.as_deref().filter(|commit| task.commit.as_deref() != Some(commit)) {
            Some(other) if task.state.status() == TaskStatus::Review => submit_again(app, tx, &task, other, &verb),
            _ => transition::perform_in(
                app,
                tx,
                id,
                &verb,
                |tx, task, _| {
                    if commit.is_some() {
                        tasks::set_work(tx, id, task.branch.as_deref(), commit.as_deref())?;
                    }
                    Ok(task.submitted()?)
                },
                |_, answer| Ok(answer),
            ),
        }
    })
}

/// Another commit of submitted work. To its reviewers it is a submission of its own.
fn submit_again(app: &App, tx: &WriteTx<'_>, task: &Task, commit: &str, verb: &Transition<'_>) -> Result<Answer> {
    let intent = if verb.force.is_some() { TaskWrite::Override } else { verb.intent };
    lookup::check_authority(tx, task, &app.actor, intent)?;
    tasks::set_work(tx, &task.id, task.branch.as_deref(), Some(commit))?;
    transition::apply(tx, task, &task.state, verb)?;
    let line = format!("submitted {} again, at {}", task.id, commit_id::short(commit));
    Answer::new(&lookup::task_view(tx, &task.id)?, &task.id, line)
}
