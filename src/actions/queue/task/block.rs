//! Block and unblock a task.

use anyhow::Result;

use super::transition::{self, Transition};
use crate::{
    actions::{Answer, App, core::force_reason::ForceReason},
    domain::{EventKind, TaskId, rules::fencing::TaskWrite},
};

/// in_progress → blocked, by the claimant. The claim stays.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`.
pub fn block(app: &App, id: &TaskId, reason: &str, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition {
        kind: EventKind::TaskBlocked,
        intent: TaskWrite::Transition,
        past_tense: "blocked",
        reason: Some(reason),
        force,
    };
    transition::perform(app, id, &verb, |_, task, _| Ok(task.blocked(reason.to_owned())?))
}

/// blocked → in_progress, by the claimant.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`.
pub fn unblock(app: &App, id: &TaskId, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition {
        kind: EventKind::TaskUnblocked,
        intent: TaskWrite::Transition,
        past_tense: "unblocked",
        reason: None,
        force,
    };
    transition::perform(app, id, &verb, |_, task, _| Ok(task.unblocked()?))
}
