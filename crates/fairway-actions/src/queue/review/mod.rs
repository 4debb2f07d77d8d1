//! Reviews: request, record, withdraw and list them, and show the next card.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::json;

use super::task::transition;
use super::{gates, task_worktree};
use crate::core::{ForceReason, lookup, message_state};
use crate::mail::inbox::acting_person;
use crate::mail::send::send_to_workers;
use crate::{Answer, App};
use fairway_core::domain::id::Label;
use fairway_core::domain::message::{MessageStatus, Priority, REVIEW_SOURCE, WORDS};
use fairway_core::domain::review::{Review, ReviewComment, Verdict};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::task::{Task, TaskStatus};
use fairway_core::domain::{Actor, Event, EventKind, Refusal, TaskId, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::os::git::Git;
use fairway_core::store::{ReadTx, WriteTx, claims, messages, review_comments, reviews};
use fairway_core::wire::ReviewView;

pub mod comments;
pub mod list;
pub mod next;
pub(crate) mod seen_commits;
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
    /// Whether it is posted on a pull request, too: after a failed post the same verdict is not recorded again.
    pub is_posted: bool,
}

/// Records a verdict, which answers the open request of its domain. A verdict that asks for changes or rejects sends the task
/// back to its author.
///
/// # Errors
/// `usage` if the domain is ambiguous.
pub fn record(app: &App, id: &TaskId, new: &NewReview) -> Result<Answer> {
    let reviewer = new.reviewer.as_deref().map(|reviewer| text_limits::check_line("reviewer", reviewer)).transpose()?;
    let notes = new.notes.as_deref().map(|notes| text_limits::check_body("notes", notes)).transpose()?;
    let by = Author::of(app)?;
    let directory = app.read(|tx| task_worktree::dir(app, tx, &lookup::task(tx, id)?))?;
    // The commit of another host's worktree is named, and may be known here.
    let git = Git::new(app.env.vars(), directory.here().unwrap_or(&app.env.cwd));
    let given = task_worktree::resolve_commit(&git, new.commit.as_deref());
    let head = if given.is_none() { comments::work_here(app, id, &directory)? } else { None };
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
        let asked = find_open(&all, &domain).map(|open| open.id);
        let given = Review {
            id: 0,
            task: id.clone(),
            domain,
            verdict: Some(new.verdict),
            commit: given.clone().or_else(|| task.commit.clone()).or(head),
            reviewer: Some(reviewer.clone().unwrap_or_else(|| app.actor.name.clone())),
            actor: app.actor.name.clone(),
            notes: notes.clone(),
            created_at: Timestamp::from_millis(0),
        };
        let is_it = |one: &&Review| Review { id: 0, created_at: Timestamp::from_millis(0), ..(*one).clone() } == given;
        // A verdict on work that was submitted again sends it back again.
        let is_again = new.verdict != Verdict::Approve && task.state.status() == TaskStatus::Review;
        if let Some(known) = all.iter().rfind(is_it).filter(|_| new.is_posted && !is_again) {
            let line = format!("unchanged: review {} of {id} is this verdict", known.id);
            return Answer::new(&ReviewView::from(known), known.id, line);
        }
        let review = write(tx, &task, asked, given)?;
        let line = format!("recorded review {} of {id}: {} in the domain '{}'", review.id, new.verdict, review.domain);
        let answer = Answer::new(&ReviewView::from(&review), review.id, line)?;
        let comments = comments::untold(app, tx, id)?;
        for comment in &comments {
            review_comments::set_told(tx, comment.id, review.id)?;
        }
        if new.verdict != Verdict::Approve {
            send_back(&by, tx, &task, &review, &comments)?;
            return Ok(answer);
        }
        if !comments.is_empty() {
            tell_author(&by, tx, &task, &review, &comments)?;
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

/// Writes a verdict. With `asked`, it answers that request.
fn write(tx: &WriteTx<'_>, task: &Task, asked: Option<i64>, given: Review) -> Result<Review> {
    let review = reviews::upsert(tx, asked, given)?;
    let verdict = review.verdict.map(Verdict::as_str);
    tx.record(
        &event(EventKind::ReviewRecorded, task, &review)
            .with("verdict", verdict)
            .with("commit", review.commit.as_deref()),
    )?;
    Ok(review)
}

/// Records the verdict that a person gave at a forge, in the domain that a review of the task has by default, else in `general`.
/// It answers a request without a reviewer. The task keeps its status, and no message is sent.
pub(crate) fn record_of_forge(
    app: &App,
    tx: &WriteTx<'_>,
    task: &Task,
    (reviewer, verdict): (&str, Verdict),
    commit: Option<&str>,
    notes: Option<String>,
) -> Result<Review> {
    let all = reviews::of_task(tx, &task.id)?;
    let domain = default_domain(app, tx, task, &all).or_else(|_| Label::parse(GENERAL))?;
    let asked = find_open(&all, &domain).filter(|open| open.reviewer.is_none()).map(|open| open.id);
    let given = Review {
        id: 0,
        task: task.id.clone(),
        domain,
        verdict: Some(verdict),
        commit: commit.map(str::to_owned),
        reviewer: Some(reviewer.to_owned()),
        actor: reviewer.to_owned(),
        notes,
        created_at: Timestamp::from_millis(0),
    };
    write(tx, task, asked, given)
}

/// Sends a task back to its author with the review's notes and the reviewer's new comments.
fn send_back(
    by: &Author<'_>,
    tx: &WriteTx<'_>,
    task: &Task,
    review: &Review,
    comments: &[ReviewComment],
) -> Result<()> {
    transition::send_back(tx, task, &refusal_reason(review.id))?;
    tell_author(by, tx, task, review, comments)
}

/// The reason for which a verdict sends a task back.
pub(crate) fn refusal_reason(review: i64) -> String {
    format!("review {review} refuses it")
}

/// The actor of a review as the author of a message: the words of a person at work outside of every session are a person's.
pub(crate) struct Author<'a> {
    actor: &'a Actor,
    /// Absent for a program inside a session that does not act under the session's id.
    from: Option<&'a str>,
}

impl<'a> Author<'a> {
    pub(crate) fn of(app: &'a App) -> Result<Self> {
        let is_known = app.actor.session.is_some() || acting_person(app)?.is_some();
        Ok(Self { actor: &app.actor, from: is_known.then_some(app.actor.name.as_str()) })
    }

    /// Leaves a message about a review for the claiming session, or else for those of the task's lane: what the author has done,
    /// then the author's own words, then what Fairway adds.
    fn tell(
        &self,
        tx: &WriteTx<'_>,
        task: &Task,
        (review, key): (&Review, &str),
        done: &str,
        words: &str,
        more: &str,
    ) -> Result<()> {
        let claim = task.state.claim();
        if claim.is_some_and(|claim| self.actor.is_named(&claim.claimant)) {
            return Ok(());
        }
        let reviewer = review.reviewer.as_deref().unwrap_or(&review.actor);
        let fact = format!("{}: {reviewer} {done} in the domain '{}' (review {})", task.id, review.domain, review.id);
        let gap = match words {
            "" => "",
            _ if words.starts_with('\n') => "\n",
            _ => ": ",
        };
        let (begin, words) = (fact.len() + gap.len(), words.trim_start_matches('\n'));
        let end = begin + words.len();
        let mut metadata = json!({ "from": self.from, "review": review.id, "tasks": [task.id.as_str()] });
        if !words.is_empty() {
            metadata[WORDS] = json!([begin, end]);
        }
        let text = format!("{fact}{gap}{words}{more}");
        let (session, by) = (claim.and_then(|claim| claim.session.as_ref()), (REVIEW_SOURCE, Priority::Normal));
        send_to_workers(tx, session, task.fields.lane.as_ref(), by, &text, &metadata, key)
    }
}

/// The deduplication key of the message about a verdict.
fn verdict_key(review: &Review) -> String {
    format!("review {}", review.id)
}

/// Tells the author of the work about a verdict. The verdict and its comments are one message.
fn tell_author(
    by: &Author<'_>,
    tx: &WriteTx<'_>,
    task: &Task,
    review: &Review,
    comments: &[ReviewComment],
) -> Result<()> {
    let done = match review.verdict {
        Some(Verdict::Approve) => "approves it",
        Some(Verdict::Reject) => "rejects it",
        _ => "asks for changes",
    };
    let mut words = review.notes.clone().unwrap_or_default();
    for ReviewComment { id, place, content, .. } in comments {
        let _ = write!(words, "\n{}:{} (comment {id}): {content}", place.path, place.line);
    }
    let more = match comments {
        [] => String::new(),
        _ => format!("\nto answer a comment, change its line: fairway review comments {}", task.id),
    };
    by.tell(tx, task, (review, &verdict_key(review)), done, &words, &more)
}

/// Takes a verdict back: its unread messages are withdrawn, and an author who has read one is told.
fn untell(by: &Author<'_>, tx: &WriteTx<'_>, task: &Task, review: &Review, reason: Option<&str>) -> Result<()> {
    let mut is_read = false;
    let sent = messages::with_dedup_key(tx, &verdict_key(review))?;
    for told in sent.iter().filter(|told| told.created_at >= review.created_at) {
        if told.status == MessageStatus::Queued {
            messages::resolve(tx, told.id, MessageStatus::Withdrawn, None)?;
            tx.record(&message_state::event(EventKind::MessageWithdrawn, told).with("reason", reason))?;
        }
        is_read |= matches!(told.status, MessageStatus::Offered | MessageStatus::Acknowledged);
    }
    if !is_read {
        // The next verdict tells them.
        return Ok(review_comments::set_untold(tx, review.id)?);
    }
    let done = format!("takes back '{}'", review.verdict.map_or("", Verdict::as_str));
    let key = format!("{} taken back", verdict_key(review));
    let by_whom = Review { reviewer: Some(by.actor.name.clone()), ..review.clone() };
    by.tell(tx, task, (&by_whom, &key), &done, reason.unwrap_or_default(), "")
}

/// Removes a request, or a verdict that asks for changes or rejects; its events stay. Only the actor who made it may do so,
/// any other actor only with `force`. A task's claimant cannot remove another actor's verdict even with `force`.
///
/// # Errors
/// `already_answered` for an approval, `not_creator`.
pub fn withdraw(app: &App, id: i64, force: Option<&ForceReason>) -> Result<Answer> {
    let reason = force.map(|force| text_limits::check_line("reason", &force.reason)).transpose()?;
    let by = Author::of(app)?;
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
            let may_force = review.verdict.is_none() || !is_claimant();
            let (by, you) = (review.actor, app.actor.name.clone());
            return Err(Refusal::NotCreator { noun: "review", id, by, you, may_force }.into());
        }
        take_back(&by, tx, &task, &review, reason.as_deref())?;
        let line = format!("withdrew review {id} of {} in the domain '{}'", task.id, review.domain);
        Answer::new(&ReviewView::withdrawn(&review), id, line)
    })
}

/// Deletes a request for review or a verdict. The author of the work is not told of a verdict any more; if the author has read it,
/// the withdrawal is told.
pub(crate) fn take_back(
    by: &Author<'_>,
    tx: &WriteTx<'_>,
    task: &Task,
    review: &Review,
    reason: Option<&str>,
) -> Result<()> {
    reviews::delete(tx, review.id)?;
    if review.verdict.is_some() {
        untell(by, tx, task, review, reason)?;
    }
    tx.record(&event(EventKind::ReviewWithdrawn, task, review).with("reason", reason))?;
    Ok(())
}
