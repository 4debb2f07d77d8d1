//! Cancel a task.

use anyhow::Result;

use super::transition::{self, Transition};
use crate::{
    actions::{Answer, App, core::force_reason::ForceReason, queue::review::memory},
    domain::{EventKind, TaskId, rules::fencing::TaskWrite},
};

/// Any open state → cancelled. A claimed task only by its claimant, an unclaimed one by any actor.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`.
pub fn cancel(app: &App, id: &TaskId, reason: &str, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition {
        kind: EventKind::TaskCancelled,
        intent: TaskWrite::Cancel,
        past_tense: "cancelled",
        reason: Some(reason),
        force,
    };
    let answer = transition::perform(app, id, &verb, |_, task, now| Ok(task.cancelled(now)?))?;
    memory::forget_closed(app);
    Ok(answer)
}
