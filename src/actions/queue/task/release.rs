//! Release a claim.

use anyhow::Result;

use super::transition::{self, Transition};
use crate::{
    actions::{Answer, App, core::force_reason::ForceReason},
    domain::{EventKind, TaskId, rules::fencing::TaskWrite},
};

/// in_progress, blocked, review → todo, by the claimant.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`.
pub fn release(app: &App, id: &TaskId, reason: Option<&str>, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition {
        kind: EventKind::TaskReleased,
        intent: TaskWrite::Transition,
        past_tense: "released",
        reason,
        force,
    };
    transition::perform(app, id, &verb, |_, task, _| Ok(task.released()?))
}
