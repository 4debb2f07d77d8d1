//! The open reviews, and whether they leave room for fresh work.

use std::cell::OnceCell;

use anyhow::Result;

use crate::App;
use fairway_core::domain::Refusal;
use fairway_core::domain::claim::Takeover;
use fairway_core::domain::review::{OpenReview, Verdict};
use fairway_core::domain::rules::review::check_capacity;
use fairway_core::domain::task::{Task, TaskStatus};
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::store::{ReadTx, reviews};

/// Filled when the first task is judged for which open reviews matter.
pub(super) type OpenReviewsCache = OnceCell<Vec<OpenReview>>;

pub(super) fn is_limited(app: &App) -> bool {
    app.settings.review.capacity > 0
}

/// Refuses a fresh claim while too many reviews are open. A claim that takes over work, and the rework of a reviewed task, are
/// always allowed. Fails with `review_full`.
pub(super) fn check(
    app: &App,
    tx: &ReadTx<'_>,
    task: &Task,
    takeover: &Takeover,
    cache: &OpenReviewsCache,
) -> Result<()> {
    if !is_limited(app) || *takeover != Takeover::Fresh {
        return Ok(());
    }
    if cache.get().is_none() {
        let _ = cache.set(open(tx)?);
    }
    match check_capacity(app.settings.review.capacity, cache.get().map(Vec::as_slice).unwrap_or_default()) {
        Err(_) if is_reviewed(tx, task)? => Ok(()),
        checked => Ok(checked?),
    }
}

/// The refusal that [`check`] would return for a fresh claim of this task; `None` when the open reviews allow the claim.
pub(super) fn refusal(app: &App, tx: &ReadTx<'_>, task: &Task, cache: &OpenReviewsCache) -> Result<Option<Refusal>> {
    match check(app, tx, task, &Takeover::Fresh, cache) {
        Ok(()) => Ok(None),
        Err(error) => error.downcast().map(Some),
    }
}

fn is_reviewed(tx: &ReadTx<'_>, task: &Task) -> Result<bool> {
    Ok(reviews::of_task(tx, &task.id)?.iter().any(|review| review.verdict.is_some()))
}

/// The tasks whose review is not finished. A task that was sent back is among them until it is done: otherwise its rework would
/// be added to fresh work.
fn open(tx: &ReadTx<'_>) -> Result<Vec<OpenReview>> {
    let mut claimed = Vec::new();
    tasks::for_each(tx, ListScope::Claimed, |task| {
        claimed.push(task);
        Ok(true)
    })?;
    let mut found = Vec::new();
    for task in claimed {
        let all = reviews::of_task(tx, &task.id)?;
        let newest = all.iter().rev().find_map(|review| review.verdict);
        let waits_for = if task.state.status() == TaskStatus::Review {
            all.into_iter().filter(|review| review.verdict.is_none()).filter_map(|review| review.reviewer).collect()
        } else if newest.is_some_and(|verdict| verdict != Verdict::Approve) {
            task.state.claim().map(|claim| claim.claimant.clone()).into_iter().collect()
        } else {
            continue;
        };
        found.push(OpenReview { task: task.id, waits_for });
    }
    Ok(found)
}
