//! A verdict and its comments on lines, posted to the pull request of the work. Each text has a mark that is looked for first, so
//! that a repeated call posts what is not there yet.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::forge::{forge_of, refusal};
use super::upstream;
use crate::App;
use crate::core::{inside_session, lookup, trust};
use crate::queue::landing_unit::project_git;
use crate::queue::review::comments;
use fairway_core::adapters::forge::Forge;
use fairway_core::config::Permission;
use fairway_core::domain::pull_request::{ForgeWhy, LanePullRequest, MARK, PullRequestState, PullState};
use fairway_core::domain::refusal::PULL_REQUEST;
use fairway_core::domain::review::{CommentStatus, Review, Verdict};
use fairway_core::domain::{Refusal, TaskId, secrets};
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::git::Git;
use fairway_core::store::{pull_requests, review_comments, reviews};
use fairway_core::wire::ReviewCommentView;

/// The open pull request of a task, for a verdict that is to be posted there.
#[derive(Debug)]
pub struct Post<'a> {
    app: &'a App,
    git: Git<'a>,
    forge: Forge,
    pull: LanePullRequest,
}

impl<'a> Post<'a> {
    /// Finds the pull request.
    ///
    /// # Errors
    /// `not_found` without an open one; `inside_session`, `untrusted`.
    pub fn prepare(app: &'a App, id: &TaskId) -> Result<Self> {
        inside_session::refuse_unless_permitted(app, "fairway review record --post", Permission::Land)?;
        let (lane, pull) = app.read(|tx| {
            let lane = lookup::lane_of(tx, &lookup::task(tx, id)?)?;
            let pull = lane.as_ref().map(|lane| pull_requests::open_of(tx, &lane.name)).transpose()?.flatten();
            Ok::<_, anyhow::Error>((lane, pull))
        })?;
        let is_open = |pull: &LanePullRequest| pull.number.is_some() && pull.state == PullState::Open;
        let is_it = |pull: &LanePullRequest| is_open(pull) && pull.tasks.iter().any(|(task, _)| task == id);
        let Some((lane, pull)) = lane.zip(pull.filter(is_it)) else {
            return Err(Refusal::not_found(PULL_REQUEST, id.as_str()).into());
        };
        trust::require(app)?;
        let git = project_git(app)?;
        let base = lane.base.unwrap_or_else(|| app.settings.project.base_branch.clone());
        let forge = forge_of(app, &git, &upstream::of_base(app, &git, &base)?.remote)?;
        Ok(Self { app, git, forge, pull })
    }

    /// Posts a recorded verdict, with its reviewer's comments at that commit. Returns a note.
    ///
    /// # Errors
    /// `forge_failed`; the verdict stays recorded here.
    pub fn post(&self, review: i64) -> Result<String> {
        let number = self.pull.number.unwrap_or_default().to_string();
        let Some(review) = self.app.read(|tx| Ok(reviews::find(tx, review)?))? else { return Ok(String::new()) };
        let state: PullRequestState = self.forge.ask(&["state", &number], &Value::Null).map_err(refusal)?;
        let bodies = state.reviews.iter().map(|one| &one.body);
        let said = state.threads.iter().flat_map(|thread| &thread.comments).map(|one| &one.body);
        let there: Vec<&String> = bodies.chain(said).collect();
        let is_there = |mark: &str| there.iter().any(|body| body.contains(mark));
        let verdict = verdict_mark(&review);
        let mut lines = self.lines(&review)?;
        lines.retain(|line| !is_there(&line_mark(line)));
        let is_given = is_there(&verdict);
        if is_given && lines.is_empty() {
            return Ok(format!("it is on #{number} already"));
        }
        let event = match review.verdict {
            _ if is_given => "COMMENT",
            Some(Verdict::Approve) => "APPROVE",
            _ => "REQUEST_CHANGES",
        };
        let inline = |line: &ReviewCommentView| {
            let body = secrets::mask(&format!("{}\n\n{}", line.text, line_mark(line)));
            json!({ "path": line.path, "line": line.line, "side": "RIGHT", "body": body })
        };
        let text = text(&review, &verdict);
        let whole = json!({
            "event": event, "commit_id": review.commit, "body": text, "comments": lines.iter().map(inline).collect::<Vec<_>>(),
        });
        let asked = ["say", number.as_str(), "review"];
        match self.forge.ask::<Value>(&asked, &whole) {
            // One's own pull request takes no verdict, and a line that it does not show no comment.
            Err(failure) if failure.why == ForgeWhy::Refused => {
                let mut text = text;
                for line in &lines {
                    let _ = write!(
                        text,
                        "\n\n{}:{}: {}\n\n{}",
                        line.path,
                        line.line,
                        secrets::mask(&line.text),
                        line_mark(line)
                    );
                }
                self.forge.ask::<Value>(&asked, &json!({ "event": "COMMENT", "body": text })).map_err(refusal)?;
                Ok(format!("posted on #{number} as a comment: {}", failure.message))
            }
            posted => {
                posted.map_err(refusal)?;
                Ok(format!("posted on #{number}"))
            }
        }
    }

    /// The reviewer's open comments that were written here, with their lines in the commit of the verdict.
    fn lines(&self, review: &Review) -> Result<Vec<ReviewCommentView>> {
        let mut own = self.app.read(|tx| Ok(review_comments::of_task(tx, &review.task)?))?;
        own.retain(|one| one.thread.is_none() && one.resolved.is_none() && one.reviewer == review.actor);
        let mut lines = comments::followed(&self.git, &own, review.commit.as_deref());
        lines.retain(|line| line.status == CommentStatus::Open);
        Ok(lines)
    }
}

fn text(review: &Review, mark: &str) -> String {
    let verdict = review.verdict.map_or("", Verdict::as_str);
    let by = review.reviewer.as_deref().unwrap_or(&review.actor);
    let notes = review.notes.as_deref().unwrap_or_default().trim();
    secrets::mask(&format!("{verdict}, by {by} in the domain {}\n\n{notes}\n\n{mark}", review.domain))
}

/// A verdict that is recorded again has the mark of the first one.
fn verdict_mark(review: &Review) -> String {
    let Review { task, domain, verdict, commit, reviewer, notes, .. } = review;
    let digest = sha256_hex(format!("{task} {domain} {verdict:?} {commit:?} {reviewer:?} {notes:?}").as_bytes());
    format!("{MARK}{} -->", digest.get(..16).unwrap_or_default())
}

fn line_mark(line: &ReviewCommentView) -> String {
    format!("{MARK}comment-{} -->", line.id)
}
