//! Worktrees and branches, made and taken away by git itself.

use std::{ffi::OsStr, path::Path, time::Duration};

use super::command::{Git, GitError, QUERY_TIMEOUT};

/// How long git may take to fill a worktree with files, or to take them away.
const CHECKOUT_TIMEOUT: Duration = Duration::from_secs(1800);

/// The repository that a directory lies in.
#[derive(Debug, Clone, Copy)]
pub struct Repository<'a> {
    git: Git<'a>,
}

impl<'a> Repository<'a> {
    /// The repository around git's directory.
    ///
    /// # Errors
    /// When it lies in none, or there is no git.
    pub fn around(git: Git<'a>) -> Result<Self, GitError> {
        git.run_checked("rev-parse", &["rev-parse", "--git-dir"], QUERY_TIMEOUT)?;
        Ok(Self { git })
    }

    /// The commit that a branch, tag or digest means; `None` when it means none.
    ///
    /// # Errors
    /// When git does not tell.
    pub fn commit(&self, revision: &str) -> Result<Option<String>, GitError> {
        self.git.resolve_commit(revision)
    }

    /// The commit of a branch of this repository; `None` when there is no such branch.
    ///
    /// # Errors
    /// When git does not tell.
    pub fn branch_commit(&self, branch: &str) -> Result<Option<String>, GitError> {
        self.commit(&format!("refs/heads/{branch}"))
    }

    /// Makes a branch that must not exist yet.
    ///
    /// # Errors
    /// As git says, also when it exists.
    pub fn create_branch(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        self.git.run_checked("branch", &["branch", "--no-track", branch, commit], QUERY_TIMEOUT).map(drop)
    }

    /// Deletes a branch, if it is still at this commit.
    ///
    /// # Errors
    /// As git says, also when it has moved on.
    pub fn delete_branch(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        self.git
            .run_checked("update-ref", &["update-ref", "-d", &format!("refs/heads/{branch}"), commit], QUERY_TIMEOUT)
            .map(drop)
    }

    /// Makes a worktree of a branch at a path where nothing is, without its files yet: that is quick.
    ///
    /// # Errors
    /// As git says.
    pub fn add_worktree(&self, path: &Path, branch: &str) -> Result<(), GitError> {
        let args = ["worktree", "add", "--quiet", "--no-checkout"].map(OsStr::new);
        let args = [&args[..], &[path.as_os_str(), branch.as_ref()]].concat();
        self.git.run_checked("worktree add", &args, CHECKOUT_TIMEOUT).map(drop)
    }

    /// Puts the files of its commit into a new worktree.
    ///
    /// # Errors
    /// As git says.
    pub fn checkout(&self) -> Result<(), GitError> {
        self.git.run_checked("checkout", &["reset", "--quiet", "--hard"], CHECKOUT_TIMEOUT).map(drop)
    }

    /// Takes a worktree away; without `force` git refuses one that holds changes.
    ///
    /// # Errors
    /// As git says.
    pub fn remove_worktree(&self, path: &Path, force: bool) -> Result<(), GitError> {
        let mut args = vec![OsStr::new("worktree"), OsStr::new("remove")];
        if force {
            // Twice, for one that git still holds locked because it was cut off.
            args.extend([OsStr::new("--force"); 2]);
        }
        args.push(path.as_os_str());
        self.git.run_checked("worktree remove", &args, CHECKOUT_TIMEOUT).map(drop)
    }

    /// Whether all that a worktree lacks is files of its own commit: one that was cut off while it was filled.
    ///
    /// # Errors
    /// As git says.
    pub fn is_partial_checkout(&self) -> Result<bool, GitError> {
        let text =
            self.git.run_checked("status", &["status", "--porcelain", "--untracked-files=normal"], QUERY_TIMEOUT)?;
        Ok(!text.is_empty() && text.lines().all(|line| line.starts_with("D ") || line.starts_with(" D")))
    }

    /// Whether git knows a worktree at this path.
    ///
    /// # Errors
    /// As git says.
    pub fn has_worktree(&self, path: &Path) -> Result<bool, GitError> {
        let list = self.git.run_checked("worktree list", &["worktree", "list", "--porcelain", "-z"], QUERY_TIMEOUT)?;
        let same =
            |known: &str| Path::new(known) == path || path.canonicalize().is_ok_and(|path| path == Path::new(known));
        Ok(list.split('\0').filter_map(|line| line.strip_prefix("worktree ")).any(same))
    }

    /// Whether every commit of `commit` is in `base` too.
    ///
    /// # Errors
    /// As git says.
    pub fn is_merged(&self, base: &str, commit: &str) -> Result<bool, GitError> {
        let untold =
            || GitError::Failed { step: "rev-list", why: format!("it does not tell what {base} lacks of {commit}") };
        self.git.is_ancestor(commit, base).ok_or_else(untold)
    }

    /// The first changes that a worktree holds and no commit does, as git's own short lines; nothing when it is clean.
    ///
    /// # Errors
    /// As git says.
    pub fn changes(&self) -> Result<Vec<String>, GitError> {
        let text =
            self.git.run_checked("status", &["status", "--porcelain", "--untracked-files=normal"], QUERY_TIMEOUT)?;
        Ok(text.lines().take(3).map(str::to_owned).collect())
    }
}
