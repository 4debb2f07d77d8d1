//! Giving a task back.

use anyhow::Result;

use super::transition::{self, Force, Move};
use crate::{
    actions::{Answer, App},
    domain::{Kind, TaskId, rules::authority::Intent},
};

/// in_progress, blocked, review → todo, by the claimant.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`.
pub fn release(app: &App, id: &TaskId, reason: Option<&str>, force: Option<&Force>) -> Result<Answer> {
    let verb = Move { kind: Kind::TaskReleased, intent: Intent::Move, past: "released", reason, force };
    transition::run(app, id, &verb, |_, task, _| Ok(task.released()?))
}
