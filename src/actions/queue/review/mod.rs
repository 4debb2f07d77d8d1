//! Reviews: request, record, withdraw and list them, and show the next card.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::json;

use super::{gates, task::transition, task_worktree};
use crate::{
    actions::{
        Answer, App,
        core::{ForceReason, lookup},
        mail::send::send_system,
    },
    domain::{
        Event, EventKind, Refusal, TaskId,
        id::Label,
        message::{Priority, Recipient},
        review::{Review, ReviewComment, Verdict},
        rules::fencing::TaskWrite,
        task::Task,
        text_limits,
    },
    env::Timestamp,
    os::git::Git,
    store::{ReadTx, WriteTx, claims, review_comments, reviews},
    wire::ReviewView,
};

pub mod comments;
pub mod list;
pub mod next;
pub(in crate::actions) mod seen_commits;
mod unseen_changes;

fn find_open<'a>(reviews: &'a [Review], domain: &Label) -> Option<&'a Review> {
    reviews.iter().find(|review| review.domain == *domain && review.verdict.is_none())
}

fn event(kind: EventKind, task: &Task, review: &Review) -> Event {
    Event::new(kind)
        .task(&task.id)
        .lane(task.fields.lane.as_ref())
        .with("id", review.id)
        .with("domain", review.domain.as_str())
        .with("reviewer", review.reviewer.as_deref())
}

/// The domain of a review when none is required or requested.
const GENERAL: &str = "general";

/// The only requested domain, else the only required one, else `general`. Fails with `usage` when there are several.
fn default_domain(app: &App, tx: &ReadTx<'_>, task: &Task, reviews: &[Review]) -> Result<Label> {
    let open: Vec<&Label> =
        reviews.iter().filter(|review| review.verdict.is_none()).map(|review| &review.domain).collect();
    let mut all = gates::required_domains(app, task);
    all.extend(gates::requested_domains(tx, reviews, &all)?);
    all.sort();
    match (open.as_slice(), all.as_slice()) {
        ([one], _) => Ok((*one).clone()),
        ([], [one]) => Ok(one.clone()),
        ([], []) => Ok(Label::parse(GENERAL)?),
        (_, all) => {
            let names: Vec<&str> = all.iter().map(Label::as_str).collect();
            Err(Refusal::Usage { why: format!("which domain? --domain {}", names.join(" or --domain ")) }.into())
        }
    }
}

/// Requests a review in `domain`, by default in the one that [`default_domain`] chooses. An open request of the domain gets
/// the new reviewer; no second one is made.
///
/// # Errors
/// `usage` if the domain is ambiguous.
pub fn request(app: &App, id: &TaskId, domain: Option<&Label>, reviewer: Option<&str>) -> Result<Answer> {
    let reviewer = reviewer.map(|reviewer| text_limits::check_line("reviewer", reviewer)).transpose()?;
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
        let all = reviews::of_task(tx, id)?;
        let domain = match domain {
            Some(domain) => domain.clone(),
            None => default_domain(app, tx, &task, &all)?,
        };
        let open = find_open(&all, &domain);
        if let Some(open) = open.filter(|open| reviewer.is_none() || open.reviewer == reviewer) {
            let line = format!("unchanged: review {} in the domain '{domain}' is requested already", open.id);
            return Answer::new(&ReviewView::from(open), open.id, line);
        }
        let review = reviews::upsert(
            tx,
            open.map(|open| open.id),
            Review {
                id: 0,
                task: id.clone(),
                domain: domain.clone(),
                verdict: None,
                commit: None,
                reviewer: reviewer.clone(),
                actor: app.actor.name.clone(),
                notes: None,
                created_at: Timestamp::from_millis(0),
            },
        )?;
        tx.record(&event(EventKind::ReviewRequested, &task, &review))?;
        let line = format!("requested review {} of {id} in the domain '{domain}'", review.id);
        Answer::new(&ReviewView::from(&review), review.id, line)
    })
}

#[derive(Debug, Clone)]
pub struct NewReview {
    pub verdict: Verdict,
    /// The domain; by default the only requested or required one, else `general`.
    pub domain: Option<Label>,
    /// The reviewer; by default the actor.
    pub reviewer: Option<String>,
    /// The reviewed commit; by default the task's, else the checked-out one.
    pub commit: Option<String>,
    pub notes: Option<String>,
}

/// Records a verdict, which answers the open request of its domain. A verdict that asks for changes or rejects sends the task
/// back to its author.
///
/// # Errors
/// `usage` if the domain is ambiguous.
pub fn record(app: &App, id: &TaskId, new: &NewReview) -> Result<Answer> {
    let reviewer = new.reviewer.as_deref().map(|reviewer| text_limits::check_line("reviewer", reviewer)).transpose()?;
    let notes = new.notes.as_deref().map(|notes| text_limits::check_body("notes", notes)).transpose()?;
    let directory = app.read(|tx| task_worktree::dir(app, tx, &lookup::task(tx, id)?))?;
    // The commit of another host's worktree is named, and may be known here.
    let git = Git::new(app.env.vars(), directory.here().unwrap_or(&app.env.cwd));
    let given = task_worktree::resolve_commit(&git, new.commit.as_deref());
    let head = if given.is_none() && directory.here().is_some() { git.head() } else { None };
    let answer = app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
        let all = reviews::of_task(tx, id)?;
        let domain = match &new.domain {
            Some(domain) => domain.clone(),
            None => default_domain(app, tx, &task, &all)?,
        };
        // The task's directory may have changed since git was asked.
        let same_dir = task_worktree::dir(app, tx, &task)? == directory;
        let head = head.clone().filter(|_| same_dir);
        let review = reviews::upsert(
            tx,
            find_open(&all, &domain).map(|open| open.id),
            Review {
                id: 0,
                task: id.clone(),
                domain,
                verdict: Some(new.verdict),
                commit: given.clone().or_else(|| task.commit.clone()).or(head),
                reviewer: Some(reviewer.clone().unwrap_or_else(|| app.actor.name.clone())),
                actor: app.actor.name.clone(),
                notes: notes.clone(),
                created_at: Timestamp::from_millis(0),
            },
        )?;
        tx.record(
            &event(EventKind::ReviewRecorded, &task, &review)
                .with("verdict", new.verdict.as_str())
                .with("commit", review.commit.as_deref()),
        )?;
        let line = format!("recorded review {} of {id}: {} in the domain '{}'", review.id, new.verdict, review.domain);
        let answer = Answer::new(&ReviewView::from(&review), review.id, line)?;
        let comments = comments::untold(app, tx, id)?;
        for comment in &comments {
            review_comments::set_told(tx, comment.id, review.id)?;
        }
        if new.verdict != Verdict::Approve {
            send_back(app, tx, &task, &review, &comments)?;
            return Ok(answer);
        }
        if !comments.is_empty() {
            tell_author(app, tx, &task, &review, &comments)?;
        }
        Ok(if claims::latest_epoch(tx, id, &app.actor.name)?.is_some() {
            answer.note(format!("an approval by {}, who has claimed {id} before, may not count", app.actor.name))
        } else if review.commit.is_none() {
            answer.note("the approval names no commit, so it cannot count: --commit SHA")
        } else {
            answer
        })
    })?;
    let commit = answer.document.get("commit").and_then(|commit| commit.as_str());
    if let Some(commit) = commit {
        let reviewer = reviewer.unwrap_or_else(|| app.actor.name.clone());
        // When this fails the verdict stands, and the next card shows everything.
        let _ = seen_commits::remember_verdict(app, &git, id, &reviewer, commit);
    }
    Ok(answer)
}

const SOURCE: &str = "review";

/// Sends a task back to its author with the review's notes and the reviewer's new comments.
fn send_back(app: &App, tx: &WriteTx<'_>, task: &Task, review: &Review, comments: &[ReviewComment]) -> Result<()> {
    transition::send_back(tx, task, &format!("review {} refuses it", review.id))?;
    tell_author(app, tx, task, review, comments)
}

/// Sends a message to the claiming session, or else to the next session of the task's lane. A verdict and its comments are one
/// message.
fn tell_author(app: &App, tx: &WriteTx<'_>, task: &Task, review: &Review, comments: &[ReviewComment]) -> Result<()> {
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

/// Removes a request, or a verdict that asks for changes or rejects; its events stay. Only the actor who made it may do so,
/// any other actor only with `force`. A task's claimant cannot remove another actor's verdict even with `force`.
///
/// # Errors
/// `already_answered` for an approval, `not_creator`.
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
        tx.record(&event(EventKind::ReviewWithdrawn, &task, &review).with("reason", reason.as_deref()))?;
        let line = format!("withdrew review {id} of {} in the domain '{}'", task.id, review.domain);
        Answer::new(&ReviewView::withdrawn(&review), id, line)
    })
}
