//! Worktrees and branches: what is checked out, creation and removal.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command::{Git, GitError, QUERY_TIMEOUT, found, output_text};
use super::scratch::git_path;

/// The time limit of a checkout, and of the removal of a worktree.
const CHECKOUT_TIMEOUT: Duration = Duration::from_secs(1800);

/// A worktree as git lists it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedWorktree {
    /// Its directory.
    pub path: PathBuf,
    /// The branch that is checked out; `None` for a detached HEAD.
    pub branch: Option<String>,
    /// The commit that is checked out; `None` before the first one.
    pub head: Option<String>,
    /// The reason of its lock; empty for a lock without a reason, `None` without a lock.
    pub locked: Option<String>,
}

impl Git<'_> {
    /// The branch that is checked out; `None` for a detached HEAD. Unlike with [`Self::branch`], a failure of git is an error.
    pub fn current_branch(&self) -> Result<Option<String>, GitError> {
        let done = self.run(&["symbolic-ref", "--quiet", "--short", "HEAD"], QUERY_TIMEOUT)?;
        Ok(found("symbolic-ref", done)?.map(|done| output_text(&done.stdout)))
    }

    /// The number of files with uncommitted changes. A new directory counts as one.
    pub fn count_changed_files(&self) -> Result<usize, GitError> {
        Ok(self.changes()?.len())
    }

    /// The setting that leads git from the repository to its files; `None` where there is none.
    pub fn core_worktree(&self) -> Result<Option<String>, GitError> {
        let done = self.run(&["config", "--get", "core.worktree"], QUERY_TIMEOUT)?;
        Ok(found("config", done)?.map(|done| output_text(&done.stdout)))
    }

    /// The top directory of the worktree that contains the working directory.
    pub fn top(&self) -> Result<PathBuf, GitError> {
        let args = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
        self.run_checked("rev-parse", &args, QUERY_TIMEOUT).map(PathBuf::from)
    }
}

/// The repository that contains a directory.
#[derive(Debug, Clone, Copy)]
pub struct Repository<'a> {
    git: Git<'a>,
}

impl<'a> Repository<'a> {
    /// The repository that contains git's working directory. This is not checked: without a repository, the first call fails.
    pub const fn of(git: Git<'a>) -> Self {
        Self { git }
    }

    /// Like [`Self::of`], but checks first that there is a repository.
    ///
    /// # Errors
    /// When there is no repository.
    pub fn around(git: Git<'a>) -> Result<Self, GitError> {
        git.run_checked("rev-parse", &["rev-parse", "--git-dir"], QUERY_TIMEOUT)?;
        Ok(Self { git })
    }

    pub const fn git(&self) -> &Git<'a> {
        &self.git
    }

    /// The full id of the commit that a branch, tag or commit id names; `None` when there is none.
    pub fn commit(&self, revision: &str) -> Result<Option<String>, GitError> {
        self.git.resolve_commit(revision)
    }

    /// The commit of a local branch; `None` when there is no such branch.
    pub fn branch_commit(&self, branch: &str) -> Result<Option<String>, GitError> {
        self.commit(&format!("refs/heads/{branch}"))
    }

    /// A branch whose name keeps git from making another branch: `a` keeps it from `a/b`, and `a/b` from `a`.
    pub fn branch_in_the_way(&self, branch: &str) -> Result<Option<String>, GitError> {
        let above =
            branch.match_indices('/').filter_map(|(at, _)| branch.get(..at)).map(|one| format!("refs/heads/{one}"));
        let names: Vec<String> = above.chain([format!("refs/heads/{branch}/")]).collect();
        let mut args = vec!["for-each-ref", "--format=%(refname)"];
        args.extend(names.iter().map(String::as_str));
        let listed = self.git.run_checked("for-each-ref", &args, QUERY_TIMEOUT)?;
        let is_in_the_way =
            |name: &&str| names.iter().any(|one| one == name || one.ends_with('/') && name.starts_with(one));
        Ok(listed.lines().find(is_in_the_way).map(|name| name.trim_start_matches("refs/heads/").to_owned()))
    }

    /// The local branch for a branch of a remote such as `origin/main`: the one of the same name, else one that follows it. `None` for
    /// any other name.
    pub fn branch_for_remote(&self, name: &str) -> Result<Option<String>, GitError> {
        let remote = format!("refs/remotes/{name}");
        if self.branch_commit(name)?.is_some() || self.commit(&remote)?.is_none() {
            return Ok(None);
        }
        let args = ["for-each-ref", "--format=%(upstream)%09%(refname)", "refs/heads"];
        let listed = self.git.run_checked("for-each-ref", &args, QUERY_TIMEOUT)?;
        let all = || listed.lines().filter_map(|line| line.split_once("\trefs/heads/"));
        let same = all().find(|(_, branch)| name.split_once('/').is_some_and(|(_, there)| there == *branch));
        Ok(same.or_else(|| all().find(|(upstream, _)| *upstream == remote)).map(|(_, branch)| branch.to_owned()))
    }

    /// Creates a branch that must not exist yet.
    ///
    /// # Errors
    /// When git fails, also because the branch exists.
    pub fn create_branch(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        self.git.run_checked("branch", &["branch", "--no-track", branch, commit], QUERY_TIMEOUT).map(drop)
    }

    /// Deletes a branch, if it is still at this commit.
    ///
    /// # Errors
    /// When git fails, also because the branch has moved.
    pub fn delete_branch(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        self.git
            .run_checked("update-ref", &["update-ref", "-d", &format!("refs/heads/{branch}"), commit], QUERY_TIMEOUT)
            .map(drop)
    }

    /// Creates a worktree of a branch at an unused path. Its files are not checked out, since that may take long.
    pub fn add_worktree(&self, path: &Path, branch: &str) -> Result<(), GitError> {
        let args = ["worktree", "add", "--quiet", "--no-checkout"].map(OsStr::new);
        let args = [&args[..], &[path.as_os_str(), branch.as_ref()]].concat();
        self.git.run_checked("worktree add", &args, CHECKOUT_TIMEOUT).map(drop)
    }

    /// Checks the files out into the new worktree at the working directory.
    pub fn checkout(&self) -> Result<(), GitError> {
        self.git.run_checkout(&["reset", "--quiet", "--hard"], CHECKOUT_TIMEOUT)
    }

    /// Writes the index of the worktree at the working directory from its commit. The files stay.
    pub fn read_index(&self) -> Result<(), GitError> {
        self.git.run_checked("read-tree", &["read-tree", "HEAD"], CHECKOUT_TIMEOUT).map(drop)
    }

    /// Removes a worktree. Without `force`, one with changes or a lock stays. Git deletes ignored files, submodules and all that is
    /// in them, so the caller must ask [`Git::uncommitted_work`] before. No filter of the repository runs.
    pub fn remove_worktree(&self, path: &Path, force: bool) -> Result<(), GitError> {
        let inside = Git::new(self.git.vars(), path);
        if !force && path.is_dir() && !inside.changes()?.is_empty() {
            return Err(GitError::Failed { step: "worktree remove", why: "the worktree has changes".to_owned() });
        }
        // Git itself takes files for changed because their filter is off, and refuses all submodules.
        let mut args = ["worktree", "remove", "--force"].map(OsStr::new).to_vec();
        // Once more for a worktree that an interrupted command left locked.
        args.extend(force.then_some(OsStr::new("--force")));
        args.push(path.as_os_str());
        self.git.run_checked("worktree remove", &args, CHECKOUT_TIMEOUT).map(drop)
    }

    /// Corrects git's records after a worktree was moved to `path`.
    pub fn repair_worktree(&self, path: &Path) -> Result<(), GitError> {
        let args = [OsStr::new("worktree"), OsStr::new("repair"), path.as_os_str()];
        self.git.run_checked("worktree repair", &args, QUERY_TIMEOUT).map(drop)
    }

    /// Whether the worktree differs from its commit only by missing files, as after an interrupted checkout.
    pub fn is_partial_checkout(&self) -> Result<bool, GitError> {
        let text = self.git.run_on_files_checked(
            "status",
            &["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty"],
            QUERY_TIMEOUT,
        )?;
        Ok(!text.is_empty() && text.lines().all(|line| line.starts_with("D ") || line.starts_with(" D")))
    }

    /// Whether git has recorded a worktree at this path, whose directory may be gone.
    pub fn has_worktree(&self, path: &Path) -> Result<bool, GitError> {
        Ok(self.listed_worktree(path)?.is_some())
    }

    /// All worktrees that git has recorded, also those whose directories are gone.
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
                // Only zeros where there is no commit yet.
                "HEAD" => last.head = Some(value.to_owned()).filter(|commit| commit.contains(|digit| digit != '0')),
                "branch" => last.branch = Some(value.trim_start_matches("refs/heads/").to_owned()),
                "locked" => last.locked = Some(value.to_owned()),
                _ => {}
            }
        }
        Ok(listed)
    }

    /// Git's record of the worktree at this path, whose directory may be gone; `None` when git has no such record.
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
