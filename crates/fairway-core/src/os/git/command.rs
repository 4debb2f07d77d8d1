//! One call of the git program: its environment, its deadline and its errors.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use thiserror::Error;

use super::named_fifos::NamedFifos;
use crate::os::capture::{self, Call, Captured};
use crate::os::exit_reason::ExitReason;
use crate::os::{executable, file_system, foreground};

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

/// Switched off: programs that a repository's configuration names, also by way of its submodules and of signed commits.
const SWITCHED_OFF: [&str; 10] = [
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "submodule.recurse=false", "-c",
    "diff.submodule=short", "-c", "log.showSignature=false",
];

/// Objects that are not here are not fetched: a repository's configuration names the program and the address. Git before 2.45
/// knows the second only, which permits no protocol.
const NO_FETCH: [(&str, &str); 2] = [("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none")];

/// The pager that git starts where none is named.
const DEFAULT_PAGER: &str = "less";

/// How much of an output that is read whole is kept, in bytes.
pub(super) const MAX_WHOLE_OUTPUT: usize = 256 << 20;

/// The first bytes of the script that is `git` in the PATH of a launched session, before the program.
pub const SESSION_GIT_HEAD: &str = "#!/bin/sh\n# git of a session that Fairway launched\n";

/// The longest error message of git that is quoted, in characters.
const MAX_REASON_CHARS: usize = 600;
/// A file system with less room than this, in bytes, is full.
const FULL: u64 = 64 << 10;

/// A failed call of git.
#[derive(Debug, Error)]
pub enum GitError {
    #[error("git cannot be started: it is not in PATH")]
    NotInPath,
    #[error("git cannot be started: {0}")]
    CannotStart(io::Error),
    /// The directory for temporary files cannot be written.
    #[error("no temporary files can be written to {}: {error}", .dir.display())]
    Scratch { dir: PathBuf, error: io::Error },
    #[error("git {}.{} is too old: {}.{} or later is needed", found.0, found.1, oldest.0, oldest.1)]
    TooOld { found: (u32, u32), oldest: (u32, u32) },
    /// Git exited with an error or took too long.
    #[error("git {step} failed: {why}")]
    Failed {
        /// The subcommand.
        step: &'static str,
        why: String,
    },
    /// A commit was not signed.
    #[error("the commit cannot be signed: {why}")]
    NotSigned {
        why: String,
        /// The command that unlocks the key.
        unlock: String,
    },
}

/// Git in one directory.
#[derive(Debug, Clone, Copy)]
pub struct Git<'a> {
    vars: &'a BTreeMap<OsString, OsString>,
    dir: &'a Path,
    more_vars: &'a [(OsString, OsString)],
    /// Whether the variables may select a repository.
    is_exact: bool,
    /// Whether a program that signs may ask at the terminal.
    pub(super) may_ask: bool,
    /// Whether one asks there now, in this process's group.
    is_asking: bool,
}

impl<'a> Git<'a> {
    /// Git in this directory, with these environment variables. Variables that would make git use another repository than that of
    /// the directory are ignored.
    pub const fn new(vars: &'a BTreeMap<OsString, OsString>, directory: &'a Path) -> Self {
        Self { vars, dir: directory, more_vars: &[], is_exact: false, may_ask: false, is_asking: false }
    }

    /// Like [`Self::new`], but variables that select a repository are kept.
    pub(super) const fn new_exact(vars: &'a BTreeMap<OsString, OsString>, directory: &'a Path) -> Self {
        Self { vars, dir: directory, more_vars: &[], is_exact: true, may_ask: false, is_asking: false }
    }

    pub(super) const fn vars(&self) -> &'a BTreeMap<OsString, OsString> {
        self.vars
    }

    /// This git with more variables, which may select another index or other objects.
    #[must_use]
    pub(super) const fn with_vars(self, more_vars: &'a [(OsString, OsString)]) -> Self {
        Self { more_vars, ..self }
    }

    /// This git, whose programs that sign may ask a person at the terminal.
    #[must_use]
    pub const fn asking(self, may_ask: bool) -> Self {
        Self { may_ask, ..self }
    }

    pub(super) const fn in_foreground(self, is_asking: bool) -> Self {
        Self { is_asking, ..self }
    }

    pub const fn dir(&self) -> &'a Path {
        self.dir
    }

    /// Runs git until it ends or reaches the time limit. A git that fails is no error: see the exit of the result.
    pub(super) fn run<T: AsRef<OsStr>>(&self, args: &[T], limit: Duration) -> Result<Captured, GitError> {
        self.run_with(args, &[], b"", limit)
    }

    /// Like [`Self::run`], with more environment variables and with this text on stdin.
    pub(super) fn run_with<T: AsRef<OsStr>>(
        &self,
        args: &[T],
        more_vars: &[(&str, &OsStr)],
        stdin: &[u8],
        limit: Duration,
    ) -> Result<Captured, GitError> {
        let mut env = self.environment();
        for (name, value) in [("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0")] {
            env.insert(name.into(), value.into());
        }
        env.extend(more_vars.iter().map(|(name, value)| (OsString::from(name), (*value).to_owned())));
        let (git, args) = (self.program()?, with_fixed(args));
        let call = Call { program: &git, args: &args, env: &env, cwd: self.dir, stdin, limit, ends_group: true };
        let mut fifos = NamedFifos::below(self.dir);
        let mut done = capture::capture_with_help(&call, MAX_WHOLE_OUTPUT, self.is_asking, || fifos.answer())
            .map_err(GitError::CannotStart)?;
        // Git says which file it cannot write, mostly not why.
        if done.exit != ExitReason::Code(0) && file_system::free_bytes(self.dir).is_ok_and(|free| free < FULL) {
            done.stderr.extend_from_slice(b"\nNo space left on device\n");
        }
        Ok(done)
    }

    /// Runs git in the foreground: it writes to this process's stdout, through the pager when that is a terminal. `pager` is
    /// the pager's command; `None` means `less`.
    pub(super) fn run_in_foreground<T: AsRef<OsStr>>(
        &self,
        args: &[T],
        pager: Option<OsString>,
    ) -> Result<ExitReason, GitError> {
        let mut env = self.environment();
        // Before every configuration, which may be that of the repository.
        env.insert("GIT_PAGER".into(), pager.unwrap_or_else(|| DEFAULT_PAGER.into()));
        let (program, args) = (self.program()?, with_fixed(args));
        let (running, ended) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut fifos = NamedFifos::below(self.dir);
                while let Some(pause) = fifos.answer() {
                    if ended.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                        return;
                    }
                }
            });
            let ran = foreground::run(&program, &args, &env, self.dir);
            drop(running);
            ran
        })
        .map_err(GitError::CannotStart)
    }

    /// The git program in the caller's `PATH`. The `git` script that Fairway puts into the `PATH` of a session is skipped.
    pub(super) fn program(&self) -> Result<PathBuf, GitError> {
        let path = self.vars.get(OsStr::new("PATH")).map(OsString::as_os_str);
        find_program(path, Path::new("/")).ok_or(GitError::NotInPath)
    }

    /// The caller's variables without those that select another repository.
    fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut env = self.vars.clone();
        if !self.is_exact {
            env.retain(|name, _| !REPOSITORY_VARS.iter().any(|var| name == var));
        }
        env.insert("GIT_OPTIONAL_LOCKS".into(), "0".into());
        env.extend(NO_FETCH.map(|(name, value)| (name.into(), value.into())));
        env.extend(self.more_vars.iter().cloned());
        env
    }

    /// Runs git and returns its stdout as text. `step` names the call in the error when git does not exit with 0.
    pub(super) fn run_checked<T: AsRef<OsStr>>(
        &self,
        step: &'static str,
        args: &[T],
        limit: Duration,
    ) -> Result<String, GitError> {
        Ok(output_text(&succeeded(step, self.run(args, limit)?)?.stdout))
    }
}

/// Turns any exit but code 0 into an error that names `step`.
pub(super) fn succeeded(step: &'static str, done: Captured) -> Result<Captured, GitError> {
    if done.exit == ExitReason::Code(0) { Ok(done) } else { Err(git_error(step, &done)) }
}

/// Returns `None` when git exited with 1, which means that it found nothing. Any other exit but 0 becomes an error.
pub(super) fn found(step: &'static str, done: Captured) -> Result<Option<Captured>, GitError> {
    match done.exit {
        ExitReason::Code(0) => Ok(Some(done)),
        ExitReason::Code(1) => Ok(None),
        _ => Err(git_error(step, &done)),
    }
}

pub(super) fn unknown_form(step: &'static str) -> GitError {
    GitError::Failed { step, why: "its output has an unknown form".into() }
}

/// The git program in a `PATH`. The `git` script that Fairway puts into the `PATH` of a session is skipped.
pub fn find_program(path: Option<&OsStr>, cwd: &Path) -> Option<PathBuf> {
    executable::find_all("git", path, cwd).find(|file| !is_session_git(file))
}

fn is_session_git(file: &Path) -> bool {
    let mut head = [0; SESSION_GIT_HEAD.len()];
    let read = File::open(file).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *SESSION_GIT_HEAD.as_bytes()
}

fn with_fixed<T: AsRef<OsStr>>(args: &[T]) -> Vec<OsString> {
    SWITCHED_OFF.into_iter().map(OsString::from).chain(args.iter().map(|arg| arg.as_ref().to_owned())).collect()
}

/// The reason that git gives, on one line and cut at its end: all that it says, without warnings, advice and repetitions.
pub(super) fn reason(stderr: &str) -> String {
    let mut seen = Vec::new();
    let mut text = String::new();
    for line in stderr.lines() {
        let sentence = ["fatal: ", "error: "].into_iter().find_map(|begin| line.strip_prefix(begin));
        let line = sentence.unwrap_or(line).trim();
        if line.is_empty()
            || line.starts_with("warning: ")
            || line.starts_with("hint: ")
            || line.starts_with("[GNUPG:]")
            || seen.contains(&line)
        {
            continue;
        }
        let continues = sentence.is_none() && line.starts_with(|first: char| first.is_lowercase());
        text.push_str(match text.chars().last() {
            None => "",
            Some('.' | ':' | ',' | ';') => " ",
            Some(_) if continues => " ",
            Some(_) => "; ",
        });
        text.push_str(line);
        seen.push(line);
    }
    match text.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

pub(super) fn git_error(step: &'static str, done: &Captured) -> GitError {
    let why = reason(&output_text(&done.stderr));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_whole_and_without_advice() {
        let dubious = "fatal: detected dubious ownership in repository at '/p'\nTo add an exception for this directory, call:\n\n\tgit \
                       config --global --add safe.directory /p\n";
        assert_eq!(
            reason(dubious),
            "detected dubious ownership in repository at '/p'; To add an exception for this directory, call: git config \
             --global --add safe.directory /p"
        );
        let filter =
            "error: external filter 'x' failed 1\nerror: external filter 'x' failed\nfatal: a: smudge filter x failed";
        assert_eq!(
            reason(filter),
            "external filter 'x' failed 1; external filter 'x' failed; a: smudge filter x failed"
        );
        let lock = "fatal: Unable to create 'index.lock': File exists.\n\nPlease make sure all processes\nare terminated.\nhint: no";
        assert_eq!(
            reason(lock),
            "Unable to create 'index.lock': File exists. Please make sure all processes are terminated."
        );
        assert_eq!(reason(&"é".repeat(700)).chars().count(), 601);
    }
}
