//! Resume a task after a review.

use anyhow::Result;

use super::transition::{self, Transition};
use crate::{
    actions::{
        Answer, App,
        core::{force_reason::ForceReason, lookup},
    },
    domain::{
        EventKind, Refusal, TaskId,
        review::Verdict,
        rules::fencing::TaskWrite,
        task::{Task, TaskState},
    },
    store::{WriteTx, reviews},
};

/// review → in_progress, of a task that is sent back to its author. A task in another state stays.
pub fn send_back(tx: &WriteTx<'_>, task: &Task, reason: &str) -> Result<()> {
    let TaskState::Review(_) = &task.state else { return Ok(()) };
    let verb = Transition {
        kind: EventKind::TaskResumed,
        intent: TaskWrite::Override,
        past_tense: "resumed",
        reason: Some(reason),
        force: None,
    };
    transition::apply(tx, task, &task.resumed()?, &verb)
}

/// review → in_progress, by the claimant or by the last reviewer who asked for changes. The claim stays.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`.
pub fn resume(app: &App, id: &TaskId, force: Option<&ForceReason>) -> Result<Answer> {
    // Fenced like a new record; the closure decides about the permission.
    let verb = Transition {
        kind: EventKind::TaskResumed,
        intent: TaskWrite::AddRecord,
        past_tense: "resumed",
        reason: None,
        force,
    };
    transition::perform(app, id, &verb, |tx, task, _| {
        let resumed = task.resumed()?;
        let you = &app.actor;
        let holder = task.state.claim().map(|claim| claim.claimant.as_str()).unwrap_or_default();
        let asked = reviews::of_task(tx, id)?.into_iter().rfind(|review| review.verdict == Some(Verdict::Changes));
        if force.is_none() && !you.is_named(holder) && asked.is_none_or(|review| !you.is_named(&review.actor)) {
            let can_continue = lookup::can_continue(tx, task, you)?;
            let (task, by, you) = (id.clone(), holder.to_owned(), you.name.clone());
            return Err(Refusal::NotClaimant { task, by, you, can_continue }.into());
        }
        Ok(resumed)
    })
}
