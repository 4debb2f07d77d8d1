//! Withdraw a requested review.

use anyhow::Result;

use super::state;
use crate::{
    actions::{
        Answer, App,
        core::{force_reason::ForceReason, lookup},
    },
    domain::{EventKind, Refusal, text_limits},
    store::reviews,
    wire::ReviewView,
};

/// Removes the request of a review, by the actor who requested it or with `force`. Its event stays in the history.
///
/// # Errors
/// `not_found`, `already_answered` for a recorded review, `not_creator`.
pub fn withdraw(app: &App, id: i64, force: Option<&ForceReason>) -> Result<Answer> {
    let reason = force.map(|force| text_limits::check_line("reason", &force.reason)).transpose()?;
    app.mutate(|tx| {
        let Some(review) = reviews::find(tx, id)? else {
            return Err(Refusal::not_found("review", id.to_string()).into());
        };
        if review.verdict.is_some() {
            return Err(Refusal::AlreadyAnswered { noun: "review", id, status: review.status().as_str() }.into());
        }
        if !app.actor.is_named(&review.actor) && force.is_none() {
            let (by, you) = (review.actor, app.actor.name.clone());
            return Err(Refusal::NotCreator { noun: "review", id, by, you }.into());
        }
        let task = lookup::task(tx, &review.task)?;
        reviews::delete(tx, id)?;
        tx.record(&state::event(EventKind::ReviewWithdrawn, &task, &review).with("reason", reason.as_deref()))?;
        let line = format!("withdrew review {id} of {} in the domain '{}'", task.id, review.domain);
        Answer::new(&ReviewView::withdrawn(&review), id, line)
    })
}
