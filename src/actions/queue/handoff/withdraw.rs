//! Withdraw a handoff.

use anyhow::Result;

use super::state::{find, record_answer, repeat_answer};
use crate::{
    actions::{Answer, App, core::force_reason::ForceReason},
    domain::{Refusal, handoff::HandoffStatus, text_limits},
};

/// open → withdrawn, by its creator or with `force`.
///
/// # Errors
/// `not_found`, `already_answered`, `not_creator`.
pub fn withdraw(app: &App, id: i64, force: Option<&ForceReason>) -> Result<Answer> {
    let reason = force.map(|force| text_limits::check_line("reason", &force.reason)).transpose()?;
    app.mutate(|tx| {
        let handoff = find(tx, id)?;
        if let Some(answer) = repeat_answer(app, &handoff, HandoffStatus::Withdrawn)? {
            return Ok(answer);
        }
        if handoff.status != HandoffStatus::Open {
            return Err(Refusal::AlreadyAnswered { noun: "handoff", id, status: handoff.status.as_str() }.into());
        }
        if !app.actor.is_named(&handoff.from_actor) && force.is_none() {
            let (by, you) = (handoff.from_actor, app.actor.name.clone());
            return Err(Refusal::NotCreator { noun: "handoff", id, by, you }.into());
        }
        let handoff = record_answer(tx, handoff, HandoffStatus::Withdrawn, reason.as_deref())?;
        Answer::new(&handoff, id, format!("withdrew handoff {id} of {}", handoff.task))
    })
}
