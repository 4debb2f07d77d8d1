//! The worktree in which a task is worked on, and commit names in it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::lookup;
use crate::actions::App;
use crate::{
    config::project::{is_same_repository, worktree_top},
    domain::{TaskId, task::Task},
    os::git::Git,
    store::{ReadTx, claims, lanes, sessions},
};

/// The worktree of a task's work: that of its lane, else that of the claiming session, else the one in which the claim was
/// made. The working directory for a task that is not claimed, and for a claim of an earlier version by a person. `None` when
/// the work is elsewhere and no row says where.
///
/// # Errors
/// As the store fails.
pub(crate) fn of_work(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<Option<PathBuf>> {
    let lane = task.fields.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten();
    if let Some(worktree) = lane.and_then(|lane| lane.worktree) {
        return Ok(Some(PathBuf::from(worktree)));
    }
    let is_worked_on = task.state.claim().is_some() || task.state.status().is_closed();
    let Some(claim) = claims::newest(tx, &task.id)?.filter(|_| is_worked_on) else {
        return Ok(Some(app.env.cwd.clone()));
    };
    let session = claim.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten();
    let is_person = session.is_none();
    let recorded = session.and_then(|session| session.worktree).or(claim.place.worktree);
    Ok(recorded.map(PathBuf::from).or_else(|| is_person.then(|| app.env.cwd.clone())))
}

/// The directory in which a task's commands run: its worktree, but a subdirectory of it when the caller is in one.
///
/// # Errors
/// As the store fails.
pub(crate) fn dir(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<PathBuf> {
    let cwd = &app.env.cwd;
    Ok(match of_work(app, tx, task)? {
        Some(dir) if is_named_by_lane(tx, task)? || !is_inside(cwd, &dir) => dir,
        _ => cwd.clone(),
    })
}

fn is_named_by_lane(tx: &ReadTx<'_>, task: &Task) -> Result<bool> {
    let lane = task.fields.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten();
    Ok(lane.is_some_and(|lane| lane.worktree.is_some()))
}

/// Whether a directory belongs to a worktree, and not to another one inside of it.
fn is_inside(dir: &Path, worktree: &Path) -> bool {
    dir == worktree || worktree_top(dir).is_some_and(|top| worktree.canonicalize().is_ok_and(|found| found == top))
}

/// The worktree of the caller, for a claim: that of the working directory, if it belongs to the project's repository, else
/// that of the project's root. `None` without git.
pub(crate) fn of_caller(app: &App) -> Option<String> {
    let root = worktree_top(&app.project.root);
    let here =
        worktree_top(&app.env.cwd).filter(|here| root.as_ref().is_none_or(|root| is_same_repository(here, root)));
    here.or(root)?.to_str().map(str::to_owned)
}

/// The full hash of a commit, so that two spellings compare equal; unchanged if git does not know it.
pub(crate) fn resolve_commit(git: &Git<'_>, commit: Option<&str>) -> Option<String> {
    commit.map(|commit| git.commit(commit).unwrap_or_else(|| commit.to_owned()))
}

/// The full hash of a commit in the task's worktree; unchanged if git does not know it there.
///
/// # Errors
/// `not_found`; as the store fails.
pub(crate) fn resolve_commit_for(app: &App, id: &TaskId, commit: Option<&str>) -> Result<Option<String>> {
    if commit.is_none() {
        return Ok(None);
    }
    let dir = app.read(|tx| dir(app, tx, &lookup::task(tx, id)?))?;
    Ok(resolve_commit(&Git::new(app.env.vars(), &dir), commit))
}
