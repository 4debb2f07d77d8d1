//! Withdraw a requested review, or a verdict that refuses the work.

use anyhow::Result;

use super::state;
use crate::{
    actions::{
        Answer, App,
        core::{force_reason::ForceReason, lookup},
    },
    domain::{EventKind, Refusal, review::Verdict, text_limits},
    store::reviews,
    wire::ReviewView,
};

/// Removes the request of a review, or a verdict that refuses the work, by the actor who made it or with `force`. Its events stay in
/// the history. The claimant of the task cannot remove another's refusal.
///
/// # Errors
/// `not_found`, `already_answered` for an approval, `not_creator`.
pub fn withdraw(app: &App, id: i64, force: Option<&ForceReason>) -> Result<Answer> {
    let reason = force.map(|force| text_limits::check_line("reason", &force.reason)).transpose()?;
    app.mutate(|tx| {
        let Some(review) = reviews::find(tx, id)? else {
            return Err(Refusal::not_found("review", id.to_string()).into());
        };
        if review.verdict == Some(Verdict::Approve) {
            return Err(Refusal::AlreadyAnswered { noun: "review", id, status: review.status().as_str() }.into());
        }
        let task = lookup::task(tx, &review.task)?;
        let is_own = app.actor.is_named(&review.actor);
        let is_claimant = || task.state.claim().is_some_and(|claim| app.actor.is_named(&claim.claimant));
        if !is_own && (force.is_none() || (review.verdict.is_some() && is_claimant())) {
            let (by, you) = (review.actor, app.actor.name.clone());
            return Err(Refusal::NotCreator { noun: "review", id, by, you }.into());
        }
        reviews::delete(tx, id)?;
        tx.record(&state::event(EventKind::ReviewWithdrawn, &task, &review).with("reason", reason.as_deref()))?;
        let line = format!("withdrew review {id} of {} in the domain '{}'", task.id, review.domain);
        Answer::new(&ReviewView::withdrawn(&review), id, line)
    })
}
