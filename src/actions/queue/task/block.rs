//! A task whose holder waits for something, and the end of that.

use anyhow::Result;

use super::transition::{self, ForceReason, Transition};
use crate::{
    actions::{Answer, App},
    domain::{Kind, TaskId, rules::fencing::Intent},
};

/// in_progress → blocked, by the claimant, who stays.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`.
pub fn block(app: &App, id: &TaskId, reason: &str, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition {
        kind: Kind::TaskBlocked,
        intent: Intent::Move,
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
    let verb =
        Transition { kind: Kind::TaskUnblocked, intent: Intent::Move, past_tense: "unblocked", reason: None, force };
    transition::perform(app, id, &verb, |_, task, _| Ok(task.unblocked()?))
}
