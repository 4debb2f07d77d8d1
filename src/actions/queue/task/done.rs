//! Finishing a task, through its gates.

use anyhow::Result;

use super::transition::{self, Force, Move};
use crate::{
    actions::{Answer, App, queue::gates},
    domain::{Kind, Refusal, TaskId, rules::authority::Intent},
    store::tasks,
};

/// in_progress, review → done, by the claimant, when the gates of `[gates.done]` let it through. `force` stands in for
/// the claimant, not for the gates.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`, `gate_blocked`.
pub fn done(app: &App, id: &TaskId, commit: Option<&str>, force: Option<&Force>) -> Result<Answer> {
    let verb = Move { kind: Kind::TaskDone, intent: Intent::Move, past: "done", reason: None, force };
    let wanted = &app.settings.done_gates;
    let seen = gates::look(app, id, wanted, commit, None)?;
    transition::run(app, id, &verb, |tx, task, now| {
        let done = task.done(now)?;
        let report = gates::judge(app, tx, task, wanted, &seen)?;
        if !report.is_ready() {
            return Err(Refusal::GateBlocked(report).into());
        }
        if seen.given.is_some() {
            tasks::set_work(tx, id, task.branch.as_deref(), seen.given.as_deref())?;
        }
        Ok(done)
    })
}
