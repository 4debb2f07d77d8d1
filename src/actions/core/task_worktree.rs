//! Where the work on a task lies, and how commits are named there.

use std::path::PathBuf;

use anyhow::Result;

use super::lookup;
use crate::actions::App;
use crate::{
    domain::{TaskId, task::Task},
    os::git::Git,
    store::{ReadTx, lanes},
};

/// The directory of a task's work: its lane's worktree when it has one, else the working directory.
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

/// A commit in full, so that two spellings are one; as it was given where git does not know it.
pub(crate) fn resolve_commit(git: &Git<'_>, commit: Option<&str>) -> Option<String> {
    commit.map(|commit| git.commit(commit).unwrap_or_else(|| commit.to_owned()))
}

/// A commit that somebody names for a task, in full where git knows it in the place of the work.
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
