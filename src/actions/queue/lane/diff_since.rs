//! The commit that `lane diff --since` names: itself, or by an event.

use anyhow::Result;

use crate::{
    actions::App,
    domain::{LaneName, Refusal, lane::Lane},
    env::Timestamp,
    os::git::{EarlierCommit, Git},
    store::events,
};

/// The commit of `since`: a number is an event, and stands for the lane's branch as it was at the time of the event; another
/// text is a commit, branch or tag.
///
/// # Errors
/// `not_found` for the event, or the commit, or an event before the reflog of the branch; `git_failed`.
pub(super) fn commit(app: &App, git: &Git<'_>, lane: &Lane, since: &str) -> Result<String> {
    let is_number = since.bytes().all(|byte| byte.is_ascii_digit());
    match since.parse::<i64>() {
        Ok(seq) if is_number => at_event(app, git, lane, seq),
        _ => Ok(git.commit(since).ok_or_else(|| Refusal::not_found("commit", since))?),
    }
}

fn at_event(app: &App, git: &Git<'_>, lane: &Lane, seq: i64) -> Result<String> {
    let at = app.read(|tx| Ok(events::time(tx, seq)?))?;
    let at = at.ok_or_else(|| Refusal::not_found("event", seq.to_string()))?;
    let branch = match &lane.branch {
        Some(branch) => Some(branch.clone()),
        None => git.current_branch()?,
    };
    let reference = branch.as_ref().map_or_else(|| "HEAD".to_owned(), |branch| format!("refs/heads/{branch}"));
    let before = |begins| -> anyhow::Error {
        let lane: LaneName = lane.name.clone();
        Refusal::BeforeReflog { lane, branch: branch.clone().unwrap_or_else(|| "HEAD".into()), event: seq, at, begins }
            .into()
    };
    match git.commit_at(&reference, at.millis().div_euclid(1_000))? {
        EarlierCommit::At(commit) => Ok(commit),
        EarlierCommit::Before(begins) => Err(before(Some(Timestamp::from_millis(begins * 1_000)))),
        EarlierCommit::NoReflog => Err(before(None)),
    }
}
