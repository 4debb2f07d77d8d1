//! Decline a handoff.

use anyhow::Result;

use super::state::{load_for, record_answer};
use crate::{
    actions::{Answer, App},
    domain::{handoff::HandoffStatus, text_limits},
};

/// open → declined, by an actor of its role or lane, with a reason.
///
/// # Errors
/// `not_found`, `already_answered`, `role_mismatch`, `lane_mismatch`.
pub fn decline(app: &App, id: i64, reason: &str) -> Result<Answer> {
    let reason = text_limits::check_line("reason", reason)?;
    app.mutate(|tx| {
        let asked = load_for(app, tx, id, HandoffStatus::Declined)?;
        if let Some(answer) = asked.repeat_answer {
            return Ok(answer);
        }
        let handoff = record_answer(tx, asked.handoff, HandoffStatus::Declined, Some(&reason))?;
        Answer::new(&handoff, id, format!("declined handoff {id} of {}", handoff.task))
    })
}
