//! Lists reviews.

use anyhow::Result;

use crate::App;
use crate::core::lookup;
use fairway_core::domain::review::Review;
use fairway_core::domain::task::Task;
use fairway_core::domain::{Actor, Role, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, claims, reviews, sessions, tasks};
use fairway_core::wire::ReviewView;

/// A task's reviews, both requests and verdicts, oldest first.
pub fn of_task(app: &App, task: &TaskId) -> Result<Vec<ReviewView>> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        Ok(reviews::of_task(tx, task)?.iter().map(ReviewView::from).collect())
    })
}

/// Open requests for reviews, oldest first.
#[derive(Debug, Default)]
pub struct Requested {
    /// The requests that the actor can answer: no other reviewer is named, and the actor never claimed the task.
    pub own: Vec<ReviewView>,
    pub others: Vec<ReviewView>,
}

/// Whether to advise the person to limit the number of open reviews: more than one session is live, and no limit is set.
pub fn is_capacity_advised(app: &App) -> Result<bool> {
    Ok(app.settings.review.capacity == 0 && app.read(|tx| Ok(sessions::live(tx)?.len() > 1))?)
}

/// Whom or what a submitted task waits for, seen by one actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wait {
    /// The task waits for the actor's verdict.
    Own,
    Claimed,
    /// The task waits for others: the actor has given a verdict since the submission.
    Given,
    AskedOf(Vec<String>),
}

pub(super) fn wait_of(app: &App, tx: &ReadTx<'_>, task: &Task, submitted_at: Timestamp) -> Result<Wait> {
    if claims::latest_epoch(tx, &task.id, &app.actor.name)?.is_some() {
        return Ok(Wait::Claimed);
    }
    let role = lookup::implied_scope(tx, &app.actor)?.role;
    let (open, given): (Vec<Review>, Vec<Review>) =
        reviews::of_task(tx, &task.id)?.into_iter().partition(|review| review.verdict.is_none());
    let is_of_actor = |review: &Review| app.actor.is_named(&review.actor) && review.created_at >= submitted_at;
    Ok(if open.is_empty() {
        if given.iter().any(is_of_actor) { Wait::Given } else { Wait::Own }
    } else if open.iter().any(|review| is_asked(review, &app.actor, role.as_ref())) {
        Wait::Own
    } else {
        Wait::AskedOf(open.into_iter().filter_map(|review| review.reviewer).collect())
    })
}

/// The open requests for reviews of open tasks, split into those that the caller may answer and the others: requests to other
/// reviewers, and those about work that the caller has claimed at some time.
pub fn requested(app: &App) -> Result<Requested> {
    app.read(|tx| {
        let role = lookup::implied_scope(tx, &app.actor)?.role;
        let mut found = Requested::default();
        for review in reviews::requested(tx)? {
            if tasks::find(tx, &review.task)?.is_none_or(|task| task.state.status().is_closed()) {
                continue;
            }
            let is_claimant = claims::latest_epoch(tx, &review.task, &app.actor.name)?.is_some();
            let is_own = !is_claimant && is_asked(&review, &app.actor, role.as_ref());
            let list = if is_own { &mut found.own } else { &mut found.others };
            list.push(ReviewView::from(&review));
        }
        Ok(found)
    })
}

/// Whether a request is for the actor: it names no reviewer, or the actor by name, user name or role.
fn is_asked(review: &Review, actor: &Actor, role: Option<&Role>) -> bool {
    let Some(reviewer) = review.reviewer.as_deref() else { return true };
    let user = actor.name.split_once('@').map(|(user, _)| user);
    actor.is_named(reviewer) || Some(reviewer) == user || Some(reviewer) == role.map(Role::as_str)
}
