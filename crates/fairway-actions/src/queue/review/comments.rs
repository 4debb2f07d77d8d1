//! Comments on lines: write, list and close them, and follow their lines through a rework.

use anyhow::Result;

use super::seen_commits;
use crate::core::{ForceReason, lookup};
use crate::queue::lane::work;
use crate::queue::task_worktree::{self, WorkDirectory};
use crate::{Answer, App};
use fairway_core::domain::review::{CommentStatus, LinePlace, ReviewComment};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::{Event, EventKind, LaneName, Refusal, TaskId, commit_id, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::os::git::Git;
use fairway_core::store::{ReadTx, review_comments};
use fairway_core::wire::ReviewCommentView;

/// Writes a comment on a line of a commit: the given one, else the task's recorded commit, else the one that is checked out.
/// The author of the work gets the comment with the reviewer's next verdict.
///
/// # Errors
/// `invalid_value` for a line that the commit does not have.
pub fn comment(app: &App, id: &TaskId, place: &LinePlace, text: &str, commit: Option<&str>) -> Result<Answer> {
    let text = text_limits::check_body("comment", text)?;
    if text.trim().is_empty() {
        return Err(Refusal::invalid("comment", "is empty").into());
    }
    let (task, dir) = app.read(|tx| {
        let task = lookup::task(tx, id)?;
        let dir = task_worktree::dir(app, tx, &task)?;
        Ok((task, dir))
    })?;
    let git = Git::new(app.env.vars(), dir.here().unwrap_or(&app.project.root));
    let work = || work_here(app, id, &dir);
    let named = commit.map(str::to_owned).or(task.commit).map_or_else(work, |commit| Ok(Some(commit)))?;
    let named = named.unwrap_or_else(|| "HEAD".to_owned());
    let commit = git.commit(&named).ok_or_else(|| Refusal::not_found("commit", &named))?;
    let Some(line_text) = git.line_at(&commit, &place.path, place.line)? else {
        let has_file = git.line_at(&commit, &place.path, 1)?.is_some();
        let (commit, root) = (commit_id::short(&commit).to_owned(), app.project.root.display().to_string());
        return Err(Refusal::NoSuchLine { place: place.clone(), commit, has_file, root }.into());
    };
    let answer = app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
        let written = ReviewComment {
            id: 0,
            task: id.clone(),
            reviewer: app.actor.name.clone(),
            commit: commit.clone(),
            place: place.clone(),
            line_text: line_text.clone(),
            content: text.clone(),
            created_at: Timestamp::from_millis(0),
            told_in: None,
            resolved: None,
            thread: None,
        };
        let written = review_comments::insert(tx, written)?;
        tx.record(&event(EventKind::ReviewCommented, &written, task.fields.lane.as_ref()))?;
        let line = format!("commented on {}:{} of {id} (comment {})", place.path, place.line, written.id);
        let view = ReviewCommentView::new(&written, CommentStatus::Open, place);
        let answer = Answer::new(&view, written.id, line)?;
        Ok(answer.note(format!("the author is told with your verdict: fairway review record {id} --verdict VERDICT")))
    })?;
    // Without the ref the commit may be gone one day; then the comment stays where it was written.
    let _ = seen_commits::keep_commented(app, &git, id, &app.actor.name, &commit);
    Ok(answer)
}

/// Closes a comment. Only its author may do so, any other actor only with `force`.
///
/// # Errors
/// `not_creator`.
pub fn resolve(app: &App, id: i64, force: Option<&ForceReason>) -> Result<Answer> {
    let reason = force.map(|force| text_limits::check_line("reason", &force.reason)).transpose()?;
    app.mutate(|tx| {
        let comment = review_comments::find(tx, id)?;
        let comment = comment.ok_or_else(|| Refusal::not_found("comment", id.to_string()))?;
        let task = lookup::task(tx, &comment.task)?;
        if comment.resolved.is_some() {
            let view = ReviewCommentView::new(&comment, CommentStatus::Resolved, &comment.place);
            return Answer::new(&view, id, format!("unchanged: comment {id} is resolved already"));
        }
        let is_claimant = task.state.claim().is_some_and(|claim| app.actor.is_named(&claim.claimant));
        if !app.actor.is_named(&comment.reviewer) && (force.is_none() || is_claimant) {
            let (by, you) = (comment.reviewer, app.actor.name.clone());
            return Err(Refusal::NotCreator { noun: "comment", id, by, you, may_force: !is_claimant }.into());
        }
        review_comments::resolve(tx, id, &app.actor.name)?;
        let event = event(EventKind::ReviewResolved, &comment, task.fields.lane.as_ref());
        tx.record(&event.with("reason", reason.as_deref()))?;
        let resolved = ReviewComment { resolved: Some((app.actor.name.clone(), tx.now())), ..comment };
        let view = ReviewCommentView::new(&resolved, CommentStatus::Resolved, &resolved.place);
        Answer::new(&view, id, format!("resolved comment {id} of {}", task.id))
    })
}

/// The commit of a task's work, unless its worktree is on another host.
pub(super) fn work_here(app: &App, id: &TaskId, dir: &WorkDirectory) -> Result<Option<String>> {
    let work = if dir.here().is_some() { work::of_task(app, id, &["review", "comments"])? } else { None };
    Ok(work.as_ref().and_then(|work| work.commit()).map(str::to_owned))
}

/// A task's comments, oldest first, with their lines in the commit of its work; with `all` also those that are not open.
pub fn list(app: &App, id: &TaskId, all: bool) -> Result<Vec<ReviewCommentView>> {
    let (task, dir, comments) = app.read(|tx| {
        let task = lookup::task(tx, id)?;
        let dir = task_worktree::of_work(app, tx, &task)?;
        Ok((task, dir, review_comments::of_task(tx, id)?))
    })?;
    if comments.is_empty() {
        return Ok(Vec::new());
    }
    let git = Git::new(app.env.vars(), dir.here().unwrap_or(&app.project.root));
    let work = || work_here(app, id, &dir);
    let commit = task.commit.map_or_else(work, |commit| Ok(Some(commit)))?;
    let mut views = followed(&git, &comments, commit.as_deref());
    views.retain(|view| all || view.status == CommentStatus::Open);
    Ok(views)
}

/// The comments with their lines in a commit. A line that git cannot follow is shown where the comment was written, and
/// counts as open.
pub(crate) fn followed(git: &Git<'_>, comments: &[ReviewComment], commit: Option<&str>) -> Vec<ReviewCommentView> {
    let view = |comment: &ReviewComment| {
        let written = (comment.commit.as_str(), comment.place.path.as_str(), comment.place.line);
        let found = commit.map(|commit| git.follow_line(written, commit));
        let (status, place) = match (&comment.resolved, found) {
            (Some(_), _) => (CommentStatus::Resolved, None),
            (None, Some(Ok(None))) => (CommentStatus::Answered, None),
            (None, Some(Ok(Some((path, line))))) => (CommentStatus::Open, Some(LinePlace { path, line })),
            (None, Some(Err(_)) | None) => (CommentStatus::Open, None),
        };
        ReviewCommentView::new(comment, status, place.as_ref().unwrap_or(&comment.place))
    };
    comments.iter().map(view).collect()
}

/// The acting reviewer's open comments that were not yet sent to the author of the work.
pub(super) fn untold(app: &App, tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<ReviewComment>> {
    let all = review_comments::of_task(tx, task)?;
    let is_untold = |comment: &ReviewComment| {
        comment.told_in.is_none() && comment.resolved.is_none() && app.actor.is_named(&comment.reviewer)
    };
    Ok(all.into_iter().filter(is_untold).collect())
}

pub(crate) fn event(kind: EventKind, comment: &ReviewComment, lane: Option<&LaneName>) -> Event {
    Event::new(kind)
        .task(&comment.task)
        .lane(lane)
        .with("id", comment.id)
        .with("path", comment.place.path.as_str())
        .with("line", i64::try_from(comment.place.line).unwrap_or(i64::MAX))
        .with("commit", comment.commit.as_str())
}
