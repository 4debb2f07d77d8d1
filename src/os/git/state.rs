//! The state of a worktree: what is checked out, and how many files differ from it.

use std::path::{Path, PathBuf};

use super::{
    command::{Git, GitError, QUERY_TIMEOUT, git_error, output_text},
    scratch::git_path,
    worktree::Repository,
};
use crate::os::exit_reason::ExitReason;

/// A worktree as git lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedWorktree {
    /// Its directory.
    pub path: PathBuf,
    /// The branch that is checked out; `None` for a detached HEAD.
    pub branch: Option<String>,
    /// The reason of its lock; empty for a lock without a reason, `None` without a lock.
    pub locked: Option<String>,
}

impl Git<'_> {
    /// The branch that is checked out; `None` for a detached HEAD.
    pub fn current_branch(&self) -> Result<Option<String>, GitError> {
        let done = self.run(&["symbolic-ref", "--quiet", "--short", "HEAD"], QUERY_TIMEOUT)?;
        match done.exit {
            ExitReason::Code(0) => Ok(Some(output_text(&done.stdout))),
            ExitReason::Code(1) => Ok(None),
            _ => Err(git_error("symbolic-ref", &done)),
        }
    }

    /// The number of files with changes that are in no commit, new ones included: a new directory counts as one.
    pub fn count_changed_files(&self) -> Result<usize, GitError> {
        Ok(self.changes()?.len())
    }

    /// The top directory of the worktree that contains the working directory.
    pub fn top(&self) -> Result<PathBuf, GitError> {
        let args = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
        self.run_checked("rev-parse", &args, QUERY_TIMEOUT).map(PathBuf::from)
    }
}

impl Repository<'_> {
    /// The worktrees of the repository.
    pub fn worktrees(&self) -> Result<Vec<ListedWorktree>, GitError> {
        let args = ["worktree", "list", "--porcelain", "-z"];
        let text = self.git().run_checked("worktree list", &args, QUERY_TIMEOUT)?;
        let mut listed: Vec<ListedWorktree> = Vec::new();
        for line in text.split('\0') {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            if key == "worktree" {
                listed.push(ListedWorktree { path: value.into(), ..ListedWorktree::default() });
            }
            let Some(last) = listed.last_mut() else { continue };
            match key {
                "branch" => last.branch = Some(value.trim_start_matches("refs/heads/").to_owned()),
                "locked" => last.locked = Some(value.to_owned()),
                _ => {}
            }
        }
        Ok(listed)
    }

    /// Git's entry for the worktree at this path, present or gone.
    pub fn listed_worktree(&self, path: &Path) -> Result<Option<ListedWorktree>, GitError> {
        // Git resolves links when it adds a worktree. The directory itself may be gone.
        let resolved = path.parent().zip(path.file_name()).and_then(|(parent, name)| {
            let parent = parent.canonicalize().ok()?;
            Some(parent.join(name))
        });
        let listed = self.worktrees()?;
        Ok(listed.into_iter().find(|one| one.path == path || resolved.as_ref() == Some(&one.path)))
    }

    /// Whether the checkout of this worktree was never completed: git has written no index.
    pub fn is_unfinished(&self) -> Result<bool, GitError> {
        Ok(!git_path(self.git(), "index")?.exists())
    }
}
