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
    capture::{self, Call, Captured, ExitReason},
    executable,
};

/// How long an answer may take.
pub(super) const QUERY_TIMEOUT: Duration = Duration::from_secs(20);

/// Variables that point git at another repository than the one of the directory that it is given.
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

/// The longest sentence that is repeated from git, in letters.
const MAX_REASON_CHARS: usize = 300;

/// Git did not do what it was asked.
#[derive(Debug, Error)]
pub enum GitError {
    /// It could not be started.
    #[error("git cannot be started: {0}")]
    CannotStart(io::Error),
    /// It said no, or nothing in time.
    #[error("git {step} failed: {why}")]
    Failed {
        /// What it was asked.
        step: &'static str,
        /// What it said.
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
    /// Git in this directory, with these variables but those that lead elsewhere.
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
        env.retain(|name, _| !REPOSITORY_VARS.iter().any(|elsewhere| name == elsewhere));
        for (name, value) in [("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")] {
            env.insert(name.into(), value.into());
        }
        let call = Call { program: &git, args: &args, env: &env, cwd: self.dir, stdin: b"", limit, ends_group: true };
        capture::capture(&call).map_err(GitError::CannotStart)
    }

    /// Runs git and demands success; answers with what it said.
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
    let said = output_text(&done.stderr);
    let why: String =
        said.lines().last().unwrap_or_default().trim_start_matches("fatal: ").chars().take(MAX_REASON_CHARS).collect();
    let why = match done.exit {
        ExitReason::TimedOut => "it took too long".to_owned(),
        _ if why.is_empty() => "it said nothing".to_owned(),
        _ => why,
    };
    GitError::Failed { step, why }
}

pub(super) fn output_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
