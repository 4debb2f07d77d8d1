//! Git worktrees and branches, made and taken away by git itself. Arguments are data: no shell, no hooks, no questions.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use thiserror::Error;

/// Variables that point git at another repository than the one of the folder that it is given.
const ELSEWHERE: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
];

/// The longest sentence that is repeated from git, in letters.
const SAID: usize = 300;

/// Git did not do what it was asked.
#[derive(Debug, Error)]
pub enum GitError {
    /// It could not be started.
    #[error("git cannot be started: {0}")]
    Absent(io::Error),
    /// It said no.
    #[error("git {step} failed: {why}")]
    Failed {
        /// What it was asked.
        step: &'static str,
        /// What it said.
        why: String,
    },
}

/// The repository around a folder.
#[derive(Debug, Clone)]
pub struct Repository {
    folder: PathBuf,
}

impl Repository {
    /// The repository that `folder` lies in.
    ///
    /// # Errors
    /// When it lies in none, or there is no git.
    pub fn around(folder: &Path) -> Result<Self, GitError> {
        let this = Self { folder: folder.to_path_buf() };
        this.ask("rev-parse", &["rev-parse", "--git-dir"])?;
        Ok(this)
    }

    /// The commit that a branch, tag or digest means; `None` when it means none.
    ///
    /// # Errors
    /// When git cannot be started.
    pub fn commit(&self, revision: &str) -> Result<Option<String>, GitError> {
        let revision = format!("{revision}^{{commit}}");
        let output = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &revision])?;
        Ok(output.status.success().then(|| said(&output.stdout)))
    }

    /// The commit of a branch of this repository; `None` when there is no such branch.
    ///
    /// # Errors
    /// When git cannot be started.
    pub fn branch(&self, branch: &str) -> Result<Option<String>, GitError> {
        self.commit(&format!("refs/heads/{branch}"))
    }

    /// Makes a branch that must not exist yet.
    ///
    /// # Errors
    /// As git says, also when it exists.
    pub fn add_branch(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        self.ask("branch", &["branch", "--no-track", branch, commit]).map(drop)
    }

    /// Deletes a branch, if it is still at this commit.
    ///
    /// # Errors
    /// As git says, also when it has moved on.
    pub fn delete_branch(&self, branch: &str, commit: &str) -> Result<(), GitError> {
        self.ask("update-ref", &["update-ref", "-d", &format!("refs/heads/{branch}"), commit]).map(drop)
    }

    /// Makes a worktree of a branch at a path where nothing is, without its files yet: that is quick.
    ///
    /// # Errors
    /// As git says.
    pub fn add_worktree(&self, path: &Path, branch: &str) -> Result<(), GitError> {
        let mut command = self.command(&["worktree", "add", "--quiet", "--no-checkout"]);
        finish("worktree add", command.arg(path).arg(branch)).map(drop)
    }

    /// Puts the files of its commit into a new worktree.
    ///
    /// # Errors
    /// As git says.
    pub fn fill(&self) -> Result<(), GitError> {
        self.ask("checkout", &["reset", "--quiet", "--hard"]).map(drop)
    }

    /// Takes a worktree away; without `force` git refuses one that holds changes.
    ///
    /// # Errors
    /// As git says.
    pub fn remove_worktree(&self, path: &Path, force: bool) -> Result<(), GitError> {
        let mut command = self.command(&["worktree", "remove"]);
        if force {
            // Twice, for one that git still holds locked because it was cut off.
            command.args(["--force", "--force"]);
        }
        finish("worktree remove", command.arg(path)).map(drop)
    }

    /// Whether all that a worktree lacks is files of its own commit: one that was cut off while it was filled.
    ///
    /// # Errors
    /// As git says.
    pub fn is_half_filled(&self) -> Result<bool, GitError> {
        let text = self.ask("status", &["status", "--porcelain", "--untracked-files=normal"])?;
        Ok(!text.is_empty() && text.lines().all(|line| line.starts_with("D ") || line.starts_with(" D")))
    }

    /// Whether git knows a worktree at this path.
    ///
    /// # Errors
    /// As git says.
    pub fn has_worktree(&self, path: &Path) -> Result<bool, GitError> {
        let list = self.ask("worktree list", &["worktree", "list", "--porcelain", "-z"])?;
        let same =
            |known: &str| Path::new(known) == path || path.canonicalize().is_ok_and(|path| path == Path::new(known));
        Ok(list.split('\0').filter_map(|line| line.strip_prefix("worktree ")).any(same))
    }

    /// Whether every commit of `commit` is in `base` too.
    ///
    /// # Errors
    /// As git says.
    pub fn contains(&self, base: &str, commit: &str) -> Result<bool, GitError> {
        let output = self.run(&["merge-base", "--is-ancestor", commit, base])?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(failed("merge-base", &output)),
        }
    }

    /// The first changes that a worktree holds and no commit does, as git's own short lines; nothing when it is clean.
    ///
    /// # Errors
    /// As git says.
    pub fn changes(&self) -> Result<Vec<String>, GitError> {
        let text = self.ask("status", &["status", "--porcelain", "--untracked-files=normal"])?;
        Ok(text.lines().take(3).map(str::to_owned).collect())
    }

    fn command(&self, args: &[&str]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "git is a program; its arguments are data")]
        let mut command = Command::new("git");
        for name in ELSEWHERE {
            command.env_remove(name);
        }
        command
            .args(["-c", "core.hooksPath=/dev/null"])
            .arg("-C")
            .arg(&self.folder)
            .args(args)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Result<Output, GitError> {
        self.command(args).output().map_err(GitError::Absent)
    }

    fn ask(&self, step: &'static str, args: &[&str]) -> Result<String, GitError> {
        finish(step, &mut self.command(args))
    }
}

fn finish(step: &'static str, command: &mut Command) -> Result<String, GitError> {
    let output = command.output().map_err(GitError::Absent)?;
    if output.status.success() { Ok(said(&output.stdout)) } else { Err(failed(step, &output)) }
}

fn failed(step: &'static str, output: &Output) -> GitError {
    let said = said(&output.stderr);
    let why = said.lines().last().unwrap_or_default().trim_start_matches("fatal: ").chars().take(SAID).collect();
    GitError::Failed { step, why }
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
