//! The directory in which a task is worked on, and commit names in it.

use std::path::PathBuf;

use anyhow::Result;

use super::lookup;
use crate::actions::App;
use crate::{
    domain::{TaskId, task::Task},
    os::git::Git,
    store::{ReadTx, lanes},
};

/// The directory of a task's work: its lane's worktree if it has one, else the working directory.
///
/// # Errors
/// As the store fails.
pub(crate) fn dir(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<PathBuf> {
    let lane = match &task.fields.lane {
        Some(name) => lanes::find(tx, name)?,
        None => None,
    };
    Ok(match lane.and_then(|lane| lane.worktree) {
        Some(worktree) => PathBuf::from(worktree),
        None => app.env.cwd.clone(),
    })
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
