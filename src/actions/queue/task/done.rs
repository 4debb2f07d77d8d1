//! Finish a task after its gates.

use anyhow::Result;

use super::transition::{self, Transition};
use crate::{
    actions::{Answer, App, core::force_reason::ForceReason, queue::gates},
    domain::{EventKind, Refusal, TaskId, rules::fencing::TaskWrite},
    store::tasks,
};

/// in_progress, review → done, by the claimant, if all gates of `[gates.done]` pass. `force` overrides the claimant, not
/// the gates.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`, `gate_blocked`.
pub fn done(app: &App, id: &TaskId, commit: Option<&str>, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition {
        kind: EventKind::TaskDone,
        intent: TaskWrite::Transition,
        past_tense: "done",
        reason: None,
        force,
    };
    let wanted = &app.settings.done_gates;
    let seen = gates::collect_facts(app, id, wanted, commit, None)?;
    transition::perform(app, id, &verb, |tx, task, now| {
        let done = task.done(now)?;
        let report = gates::evaluate(app, tx, task, wanted, &seen)?;
        if !report.is_ready() {
            return Err(Refusal::GateBlocked(report).into());
        }
        if seen.given.is_some() {
            tasks::set_work(tx, id, task.branch.as_deref(), seen.given.as_deref())?;
        }
        Ok(done)
    })
}
