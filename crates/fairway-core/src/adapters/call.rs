//! Calling a script: one operation, one deadline, one verdict.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{AdapterError, clean_env};
use crate::domain::secrets;
use crate::env::{Env, vars};
use crate::os::capture::{self, Call, Captured};
use crate::os::command::Program;
use crate::os::exit_reason::ExitReason;
use crate::os::pty::{self, Pty};
use crate::os::session_leader::Running;
use crate::os::terminal::Size;
use crate::os::{executable, files, foreground};

/// How long an operation other than `start` and `attach` may take.
pub(super) const OPERATION_TIMEOUT: Duration = Duration::from_secs(30);
/// The exit codes that have a meaning of their own.
const EXIT_UNSUPPORTED: i32 = 2;
const EX_TEMPFAIL: i32 = 75;
/// How much of a script's stderr an error message quotes, in bytes.
const MAX_REASON_BYTES: usize = 2_000;

/// A backend script, with the state directory and the environment of its calls.
#[derive(Debug, Clone)]
pub struct Adapter {
    script: PathBuf,
    state_dir: PathBuf,
    env: BTreeMap<OsString, OsString>,
    cwd: PathBuf,
}

impl Adapter {
    /// Prepares calls of the backend script `script` in the directory `cwd`. The script keeps its sessions' state in the
    /// directory `state`. Neither runs nor writes anything yet.
    pub fn new(script: &Path, state: &Path, cwd: &Path, env: &Env) -> io::Result<Self> {
        let mut around = clean_env(env);
        around.insert(vars::FAIRWAY_BIN.into(), executable::current_executable()?.into());
        for name in [vars::FAIRWAY_ADAPTER_STATE, vars::GC_EXEC_STATE_DIR] {
            around.insert(name.into(), state.into());
        }
        Ok(Self { script: script.into(), state_dir: state.into(), env: around, cwd: cwd.into() })
    }

    /// Sets the address at which the script's multiplexer (such as tmux) listens; `None` lets the script use its own private
    /// server.
    #[must_use]
    pub fn with_socket(mut self, socket: Option<&str>) -> Self {
        match socket {
            Some(socket) => self.env.insert(vars::FAIRWAY_BACKEND_SOCKET.into(), socket.into()),
            None => self.env.remove(OsStr::new(vars::FAIRWAY_BACKEND_SOCKET)),
        };
        self
    }

    /// Adds variables to the environment of the script's calls.
    #[must_use]
    pub fn with_env<'a>(mut self, vars: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.env.extend(vars.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Calls the script once. An exit code other than 0 or a timeout is part of the result, not an error.
    pub fn call_raw(&self, args: &[&str], stdin: &[u8], limit: Duration) -> io::Result<Captured> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        self.capture(&self.script, &args, &self.env, stdin, limit, false)
    }

    /// Like [`Self::call_raw`], but pipes stdout and stderr of the script into `cat` and waits until every process has closed
    /// both, as callers do that read a script's output to its end. A background process that keeps them open makes the call time
    /// out. The exit code is that of `cat`, not of the script.
    pub fn call_until_eof(&self, args: &[&str], stdin: &[u8], limit: Duration) -> io::Result<Captured> {
        let script = [r#""$@" 2>&1 | cat"#, "sh"].map(OsString::from);
        let words: Vec<OsString> = std::iter::once(OsString::from("-c"))
            .chain(script)
            .chain(std::iter::once(self.script.clone().into_os_string()))
            .chain(args.iter().map(OsString::from))
            .collect();
        self.capture(Path::new("/bin/sh"), &words, &self.env, stdin, limit, true)
    }

    /// Runs the script's operation `attach` in a new pseudo-terminal of this size. Returns the controlling end of the
    /// pseudo-terminal and the running script.
    pub fn attach_in_pty(&self, name: &str, size: Size) -> io::Result<(Pty, Running)> {
        let argv = [self.script.as_os_str(), OsStr::new("attach"), OsStr::new(name)].map(OsString::from);
        let mut env = self.env.clone();
        // cron sets no `TERM`; programs that draw need one.
        env.entry(vars::TERM.into()).or_insert_with(|| "xterm-256color".into());
        pty::spawn(&Program { argv: &argv, env: &env, cwd: &self.cwd }, size, None)
    }

    pub fn script(&self) -> &Path {
        &self.script
    }

    pub(super) fn call(
        &self,
        operation: &str,
        args: &[&str],
        stdin: &[u8],
        limit: Duration,
        run: Option<&str>,
    ) -> io::Result<Captured> {
        let args: Vec<OsString> = std::iter::once(operation).chain(args.iter().copied()).map(OsString::from).collect();
        let mut env = self.env.clone();
        env.extend(run.map(|run| (vars::FAIRWAY_LAUNCH.into(), run.into())));
        self.capture(&self.script, &args, &env, stdin, limit, run.is_some())
    }

    fn capture(
        &self,
        program: &Path,
        args: &[OsString],
        env: &BTreeMap<OsString, OsString>,
        stdin: &[u8],
        limit: Duration,
        ends_group: bool,
    ) -> io::Result<Captured> {
        files::private_dir(&self.state_dir)?;
        capture::capture(&Call { program, args, env, cwd: &self.cwd, stdin, limit, ends_group })
    }

    /// Runs an operation in this process's own terminal, without a time limit. Returns the script's exit code, or 128 plus the
    /// number of the signal that ended the script.
    ///
    /// # Errors
    /// [`AdapterError::Unsupported`] for exit code 2; [`AdapterError::CannotRun`].
    pub(super) fn call_on_terminal(&self, operation: &'static str, args: &[&str]) -> Result<u8, AdapterError> {
        let unrunnable = |source| AdapterError::CannotRun { script: self.script.clone(), source };
        files::private_dir(&self.state_dir).map_err(unrunnable)?;
        let args: Vec<OsString> = std::iter::once(operation).chain(args.iter().copied()).map(OsString::from).collect();
        let code = match foreground::run(&self.script, &args, &self.env, &self.cwd).map_err(unrunnable)? {
            ExitReason::Code(EXIT_UNSUPPORTED) => {
                return Err(AdapterError::Unsupported { script: self.script.clone(), operation });
            }
            ExitReason::Code(code) => code,
            ExitReason::Signal(signal) => 128 + signal,
            ExitReason::TimedOut => 1,
        };
        Ok(u8::try_from(code).unwrap_or(1))
    }

    /// Turns the result of a call into its stdout, or into the error for its exit code, signal or timeout.
    pub(super) fn classify(
        &self,
        operation: &'static str,
        done: io::Result<Captured>,
        limit: Duration,
    ) -> Result<Vec<u8>, AdapterError> {
        let script = self.script.clone();
        let done = done.map_err(|source| AdapterError::CannotRun { script: script.clone(), source })?;
        match done.exit {
            ExitReason::Code(0) => Ok(done.stdout),
            ExitReason::Code(EXIT_UNSUPPORTED) => Err(AdapterError::Unsupported { script, operation }),
            ExitReason::Code(EX_TEMPFAIL) => {
                Err(AdapterError::Busy { script, operation, why: stderr_tail(&done.stderr, "exit code 75") })
            }
            ExitReason::Code(code) => {
                Err(self.failed(operation, stderr_tail(&done.stderr, &format!("exit code {code}"))))
            }
            ExitReason::Signal(signal) => {
                Err(self.failed(operation, stderr_tail(&done.stderr, &format!("signal {signal}"))))
            }
            ExitReason::TimedOut => Err(AdapterError::TimedOut { script, operation, seconds: limit.as_secs() }),
        }
    }

    pub(super) fn failed(&self, operation: &'static str, why: String) -> AdapterError {
        AdapterError::Failed { script: self.script.clone(), operation, why }
    }
}

/// The end of a script's stderr as one line, with secrets masked; `else_` when it is empty.
fn stderr_tail(stderr: &[u8], else_: &str) -> String {
    let text = String::from_utf8_lossy(stderr);
    let said = secrets::mask(text.trim());
    let from = said.char_indices().map(|(at, _)| at).find(|at| said.len() - at <= MAX_REASON_BYTES).unwrap_or_default();
    let said = said.get(from..).unwrap_or_default().lines().map(str::trim).collect::<Vec<_>>().join(" ");
    if said.is_empty() { else_.to_owned() } else { said }
}
