//! Record a review.

use anyhow::Result;

use super::{comments, default_domain, memory, send_back, state};
use crate::{
    actions::{Answer, App, core::lookup, queue::task_worktree},
    domain::{
        EventKind, TaskId,
        id::Label,
        review::{Review, Verdict},
        rules::fencing::TaskWrite,
        text_limits,
    },
    env::Timestamp,
    os::git::Git,
    store::{claims, review_comments, reviews},
    wire::ReviewView,
};

/// A review to record.
#[derive(Debug, Clone)]
pub struct NewReview {
    pub verdict: Verdict,
    /// The domain; by default the only requested or required one, else `general`.
    pub domain: Option<Label>,
    /// The reviewer; by default the actor.
    pub reviewer: Option<String>,
    /// The reviewed commit; by default the task's, else the checked-out one.
    pub commit: Option<String>,
    /// Details.
    pub notes: Option<String>,
}

/// Records a verdict. It answers the open request of its domain. One that refuses the work sends the task back to its author.
///
/// # Errors
/// `not_found`, `stale_claim`, `usage` if the domain is ambiguous, `invalid_value`.
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
            None => default_domain::choose(app, tx, &task, &all)?,
        };
        // The task's directory may have changed since git was asked.
        let same_dir = task_worktree::dir(app, tx, &task)? == directory;
        let head = head.clone().filter(|_| same_dir);
        let review = reviews::upsert(
            tx,
            state::find_open(&all, &domain).map(|open| open.id),
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
            &state::event(EventKind::ReviewRecorded, &task, &review)
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
            send_back::send_back(app, tx, &task, &review, &comments)?;
            return Ok(answer);
        }
        if !comments.is_empty() {
            send_back::tell_author(app, tx, &task, &review, &comments)?;
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
        // The verdict stands without it; then the next card shows everything.
        let _ = memory::remember_verdict(app, &git, id, &reviewer, commit);
    }
    Ok(answer)
}
