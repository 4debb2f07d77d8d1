//! The only place that removes a worktree: what would be lost with it is looked at right before.

use std::path::Path;

use anyhow::Result;

use super::checkout;
use crate::{
    actions::App,
    os::git::{Git, GitError, Repository, UncommittedWork},
};

/// Whether files that are missing or changed count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checkout {
    /// The worktree was in use.
    Complete,
    /// The checkout was interrupted before any command could use the worktree.
    Interrupted,
}

/// Removes a worktree that holds no work. One that is gone leaves git's record, which is removed.
///
/// # Errors
/// `git_failed`, also when the worktree holds work.
pub(super) fn remove_worktree(app: &App, git: &Repository<'_>, dir: &Path, checkout: Checkout) -> Result<()> {
    if dir.join(".git").exists() {
        let mut work = uncommitted_work(app, dir)?;
        if checkout == Checkout::Interrupted {
            work = UncommittedWork { operation: None, changes: Vec::new(), ..work };
        }
        if let Some(text) = work.text() {
            return Err(GitError::Failed { step: "worktree remove", why: format!("the worktree {text}") }.into());
        }
    }
    Ok(git.remove_worktree(dir, checkout == Checkout::Interrupted)?)
}

/// The work in the worktree `dir` that is in no commit.
///
/// # Errors
/// `git_failed`.
pub(super) fn uncommitted_work(app: &App, dir: &Path) -> Result<UncommittedWork, GitError> {
    Git::new(app.env.vars(), dir).uncommitted_work(&checkout::temp_dir(app))
}
