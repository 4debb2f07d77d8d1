//! What a review that refuses the work sets off: the task is in progress again, and its author is told.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::json;

use crate::{
    actions::{App, mail::send::send_system, queue::task::resume},
    domain::{
        message::{Priority, Recipient},
        review::ReviewComment,
        review::{Review, Verdict},
        task::Task,
    },
    store::WriteTx,
};

/// The source of such a message.
const SOURCE: &str = "review";

/// Sends a task back to its author with the review's notes and the reviewer's new comments.
pub(super) fn send_back(
    app: &App,
    tx: &WriteTx<'_>,
    task: &Task,
    review: &Review,
    comments: &[ReviewComment],
) -> Result<()> {
    resume::send_back(tx, task, &format!("review {} refuses it", review.id))?;
    tell_author(app, tx, task, review, comments)
}

/// Tells the claiming session, or else the next one of the task's lane: a verdict and its comments are one message.
pub(super) fn tell_author(
    app: &App,
    tx: &WriteTx<'_>,
    task: &Task,
    review: &Review,
    comments: &[ReviewComment],
) -> Result<()> {
    let claim = task.state.claim();
    if claim.is_some_and(|claim| app.actor.is_named(&claim.claimant)) {
        return Ok(());
    }
    let what = match review.verdict {
        Some(Verdict::Approve) => "approves it",
        Some(Verdict::Reject) => "rejects it",
        _ => "asks for changes",
    };
    let reviewer = review.reviewer.as_deref().unwrap_or(&review.actor);
    let notes = review.notes.as_deref().map(|notes| format!(": {notes}")).unwrap_or_default();
    let mut text =
        format!("{}: {reviewer} {what} in the domain '{}' (review {}){notes}", task.id, review.domain, review.id);
    for ReviewComment { id, place, content, .. } in comments {
        let _ = write!(text, "\n{}:{} (comment {id}): {content}", place.path, place.line);
    }
    if !comments.is_empty() {
        let _ = write!(text, "\nto answer a comment, change its line: fairway review comments {}", task.id);
    }
    let metadata = json!({ "review": review.id, "tasks": [task.id.as_str()] });
    let key = format!("review {}", review.id);
    let tell = |to: &Recipient| send_system(tx, to, (SOURCE, Priority::Normal), text.clone(), &metadata, &key);
    let session = claim.and_then(|claim| claim.session.clone());
    let is_told = session.map(|session| tell(&Recipient::Session(session))).transpose()?.unwrap_or(false);
    if let (Some(lane), false) = (&task.fields.lane, is_told) {
        tell(&Recipient::Lane(lane.clone()))?;
    }
    Ok(())
}
