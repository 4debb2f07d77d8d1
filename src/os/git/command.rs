//! One call of the git program: its environment, its deadline and its errors.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    path::Path,
    time::Duration,
};

use thiserror::Error;

use crate::os::{
    capture::{self, Call, Captured},
    executable,
    exit_reason::ExitReason,
};

/// The time limit of a query.
pub(super) const QUERY_TIMEOUT: Duration = Duration::from_secs(20);

/// Variables that select another repository than that of the working directory.
const REPOSITORY_VARS: &[&str] = &[
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

/// The longest error message of git that is quoted, in characters.
const MAX_REASON_CHARS: usize = 300;

/// A failed call of git.
#[derive(Debug, Error)]
pub enum GitError {
    /// It could not be started.
    #[error("git cannot be started: {0}")]
    CannotStart(io::Error),
    /// It exited with an error or took too long.
    #[error("git {step} failed: {why}")]
    Failed {
        /// The subcommand.
        step: &'static str,
        /// The reason.
        why: String,
    },
}

/// Git in one directory.
#[derive(Debug, Clone, Copy)]
pub struct Git<'a> {
    vars: &'a BTreeMap<OsString, OsString>,
    dir: &'a Path,
}

impl<'a> Git<'a> {
    /// Git in this directory, with these environment variables except those that select another repository.
    #[must_use]
    pub const fn new(vars: &'a BTreeMap<OsString, OsString>, directory: &'a Path) -> Self {
        Self { vars, dir: directory }
    }

    /// Runs git to its end.
    pub(super) fn run<T: AsRef<OsStr>>(&self, args: &[T], limit: Duration) -> Result<Captured, GitError> {
        let path = self.vars.get(OsStr::new("PATH")).map(OsString::as_os_str);
        let absent = || GitError::CannotStart(io::Error::from(io::ErrorKind::NotFound));
        let git = executable::find("git", path, Path::new("/")).ok_or_else(absent)?;
        let fixed = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"].map(OsString::from);
        let args: Vec<OsString> = fixed.into_iter().chain(args.iter().map(|arg| arg.as_ref().to_owned())).collect();
        let mut env = self.vars.clone();
        env.retain(|name, _| !REPOSITORY_VARS.iter().any(|var| name == var));
        for (name, value) in [("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")] {
            env.insert(name.into(), value.into());
        }
        let call = Call { program: &git, args: &args, env: &env, cwd: self.dir, stdin: b"", limit, ends_group: true };
        capture::capture(&call).map_err(GitError::CannotStart)
    }

    /// Runs git and returns its stdout.
    ///
    /// # Errors
    /// When it cannot be started or its exit code is not 0.
    pub(super) fn run_checked<T: AsRef<OsStr>>(
        &self,
        step: &'static str,
        args: &[T],
        limit: Duration,
    ) -> Result<String, GitError> {
        let done = self.run(args, limit)?;
        if done.exit == ExitReason::Code(0) { Ok(output_text(&done.stdout)) } else { Err(git_error(step, &done)) }
    }
}

pub(super) fn git_error(step: &'static str, done: &Captured) -> GitError {
    let stderr = output_text(&done.stderr);
    let why: String = stderr
        .lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("fatal: ")
        .chars()
        .take(MAX_REASON_CHARS)
        .collect();
    let why = match done.exit {
        ExitReason::TimedOut => "timed out".to_owned(),
        _ if why.is_empty() => "no error message".to_owned(),
        _ => why,
    };
    GitError::Failed { step, why }
}

pub(super) fn output_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
