//! Which commits reviewers have seen, and the refs that keep these commits.

use anyhow::Result;

use crate::App;
use crate::core::lookup;
use crate::queue::base_commit;
use fairway_core::domain::actor::is_same_claimant;
use fairway_core::domain::seen_work::{REF_PREFIX, SeenCommit, SeenWork, commented_ref};
use fairway_core::domain::{LaneName, TaskId};
use fairway_core::os::git::Git;
use fairway_core::store::{ReadTx, lanes, seen_work};

/// Records that a reviewer has seen a whole commit of a task. A ref keeps the commit from git's garbage collection, because
/// the reviewer's next card shows the difference from it.
pub(super) fn remember(
    app: &App,
    git: &Git<'_>,
    (task, lane): (&TaskId, Option<&LaneName>),
    reviewer: &str,
    commit: SeenCommit,
) -> Result<()> {
    let before = app.read(|tx| Ok(find(&seen_work::all(tx)?, task, reviewer)))?;
    let is_known = |seen: &SeenWork| seen.newest.as_ref().is_some_and(|newest| newest.commit == commit.commit);
    if !before.as_ref().is_some_and(is_known) {
        let seen = app.transaction(|tx| {
            let known = find_or_new(tx, task, reviewer)?;
            let seen = known.with(commit, lane.cloned(), tx.now());
            let id = seen_work::upsert(tx, &seen)?;
            Ok(SeenWork { id, ..seen })
        })?;
        // Without its ref the commit may be gone one day; then everything is shown.
        for (name, commit) in seen.refs() {
            let _ = git.move_ref(&name, git.commit(&name).as_deref(), Some(commit));
        }
    }
    sweep(app, git)
}

/// Like [`remember`], for the commit of a verdict. Does nothing when git does not know the commit or its base, or when the two
/// have no common commit.
pub(super) fn remember_verdict(app: &App, git: &Git<'_>, id: &TaskId, reviewer: &str, commit: &str) -> Result<()> {
    let (lane, base) = app.read(|tx| {
        let lane = lookup::task(tx, id)?.fields.lane;
        let base = lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten().and_then(|lane| lane.base);
        Ok((lane, base))
    })?;
    let base = base.unwrap_or_else(|| app.settings.project.base_branch.clone());
    let Some((commit, base)) = git.commit(commit).zip(base_commit::find(app, git, &base)?) else { return Ok(()) };
    match git.merge_base(&base, &commit) {
        Ok(Some(fork)) => remember(app, git, (id, lane.as_ref()), reviewer, SeenCommit { commit, fork }),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Keeps a commented commit with a ref while the task is open, because the commented line is followed from there. The commit
/// does not count as seen.
pub(super) fn keep_commented(app: &App, git: &Git<'_>, task: &TaskId, reviewer: &str, commit: &str) -> Result<()> {
    let id = app.transaction(|tx| {
        let known = find_or_new(tx, task, reviewer)?;
        Ok(seen_work::upsert(tx, &known)?)
    })?;
    let name = commented_ref(id, commit);
    if git.commit(&name).is_none() {
        git.move_ref(&name, None, Some(commit))?;
    }
    Ok(())
}

/// Moves a task to the end of a reviewer's cards.
pub(super) fn defer(app: &App, task: &TaskId, reviewer: &str) -> Result<()> {
    app.transaction(|tx| {
        let known = find_or_new(tx, task, reviewer)?;
        seen_work::upsert(tx, &SeenWork { deferred_at: Some(tx.now()), ..known })?;
        Ok(())
    })
}

/// Deletes the records of what was seen of closed tasks, and every ref without a row.
fn sweep(app: &App, git: &Git<'_>) -> Result<()> {
    let (closed, known) = app.read(|tx| Ok((seen_work::of_closed_tasks(tx)?, seen_work::all(tx)?)))?;
    if !closed.is_empty() {
        app.transaction(|tx| {
            seen_work::of_closed_tasks(tx)?.iter().try_for_each(|seen| Ok(seen_work::delete(tx, seen.id)?))
        })?;
    }
    let is_live = |seen: &&SeenWork| !closed.iter().any(|one| one.id == seen.id);
    let live: Vec<String> = known.iter().filter(is_live).map(|seen| format!("{REF_PREFIX}{}/", seen.id)).collect();
    for name in git.refs_below(REF_PREFIX).unwrap_or_default() {
        if !live.iter().any(|prefix| name.starts_with(prefix)) {
            // A ref that stays does no harm.
            let _ = git.move_ref(&name, None, None);
        }
    }
    Ok(())
}

/// Deletes the records about seen commits of closed tasks, and the refs of these commits, after a task was closed. A failure
/// is ignored: the next review command tries again.
pub(crate) fn forget_closed(app: &App) {
    let has_closed = app.read(|tx| Ok(!seen_work::of_closed_tasks(tx)?.is_empty()));
    if matches!(has_closed, Ok(true)) {
        let _ = sweep(app, &Git::new(app.env.vars(), &app.project.root));
    }
}

fn find_or_new(tx: &ReadTx<'_>, task: &TaskId, reviewer: &str) -> Result<SeenWork> {
    let known = find(&seen_work::all(tx)?, task, reviewer);
    Ok(known.unwrap_or_else(|| SeenWork::nothing(task.clone(), reviewer.to_owned())))
}

fn find(all: &[SeenWork], task: &TaskId, reviewer: &str) -> Option<SeenWork> {
    all.iter().find(|seen| seen.task == *task && is_same_claimant(&seen.reviewer, reviewer)).cloned()
}
