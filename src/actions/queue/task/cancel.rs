//! Giving a task up.

use anyhow::Result;

use super::transition::{self, Force, Move};
use crate::{
    actions::{Answer, App},
    domain::{Kind, TaskId, rules::authority::Intent},
};

/// Any open state → cancelled: by anybody while nobody holds it, else by the claimant.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`.
pub fn cancel(app: &App, id: &TaskId, reason: &str, force: Option<&Force>) -> Result<Answer> {
    let verb =
        Move { kind: Kind::TaskCancelled, intent: Intent::Close, past: "cancelled", reason: Some(reason), force };
    transition::run(app, id, &verb, |_, task, now| Ok(task.cancelled(now)?))
}
