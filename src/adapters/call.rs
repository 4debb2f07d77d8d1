//! Calling a script: one operation, one deadline, one verdict.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{AdapterError, clean_env};
use crate::{
    domain::secrets,
    env::{Env, vars},
    os::{
        capture::{self, Call, Captured},
        child::Running,
        command::Program,
        executable,
        exit_reason::ExitReason,
        files, foreground,
        pty::{self, Pty},
        terminal::Size,
    },
};

/// How long an operation may take, `start` and `attach` apart.
pub(super) const OPERATION_TIMEOUT: Duration = Duration::from_secs(30);
/// Exit codes that mean something of their own.
const EXIT_UNSUPPORTED: i32 = 2;
const EX_TEMPFAIL: i32 = 75;
/// How much of what a script said on stderr is told on, in bytes.
const MAX_REASON_BYTES: usize = 2_000;

/// A script together with the state directory that it is always called with.
#[derive(Debug, Clone)]
pub struct Adapter {
    script: PathBuf,
    state_dir: PathBuf,
    env: BTreeMap<OsString, OsString>,
    cwd: PathBuf,
}

impl Adapter {
    /// A script that is called from `cwd`. Runs nothing and writes nothing yet.
    pub fn new(script: &Path, state: &Path, cwd: &Path, env: &Env) -> io::Result<Self> {
        let mut around = clean_env(env);
        around.insert(vars::FAIRWAY_BIN.into(), executable::current_executable()?.into());
        for name in [vars::FAIRWAY_ADAPTER_STATE, vars::GC_EXEC_STATE_DIR] {
            around.insert(name.into(), state.into());
        }
        Ok(Self { script: script.into(), state_dir: state.into(), env: around, cwd: cwd.into() })
    }

    /// This script, told where its multiplexer listens; `None` leaves it to its private one.
    #[must_use]
    pub fn with_socket(mut self, socket: Option<&str>) -> Self {
        match socket {
            Some(socket) => self.env.insert(vars::FAIRWAY_BACKEND_SOCKET.into(), socket.into()),
            None => self.env.remove(OsStr::new(vars::FAIRWAY_BACKEND_SOCKET)),
        };
        self
    }

    /// This script with more variables, as another caller's environment may have them.
    #[must_use]
    pub fn with_env<'a>(mut self, vars: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        self.env.extend(vars.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// One call as it is, whatever its operation and its exit code mean.
    pub fn call_raw(&self, args: &[&str], stdin: &[u8], limit: Duration) -> io::Result<Captured> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        self.capture(&self.script, &args, &self.env, stdin, limit, false)
    }

    /// As [`Self::call_raw`], by a caller that waits until every process has closed stdout and stderr, as many do: what a
    /// background child holds open keeps it waiting. Its exit code is the reader's.
    pub fn call_until_eof(&self, args: &[&str], stdin: &[u8], limit: Duration) -> io::Result<Captured> {
        let script = [r#""$@" 2>&1 | cat"#, "sh"].map(OsString::from);
        let words: Vec<OsString> = std::iter::once(OsString::from("-c"))
            .chain(script)
            .chain(std::iter::once(self.script.clone().into_os_string()))
            .chain(args.iter().map(OsString::from))
            .collect();
        self.capture(Path::new("/bin/sh"), &words, &self.env, stdin, limit, true)
    }

    /// Begins `attach` at the head of a new terminal of this size, whose other end is the answer's.
    pub fn attach_in_pty(&self, name: &str, size: Size) -> io::Result<(Pty, Running)> {
        let argv = [self.script.as_os_str(), OsStr::new("attach"), OsStr::new(name)].map(OsString::from);
        let mut env = self.env.clone();
        // cron gives none; programs that draw need one.
        env.entry(vars::TERM.into()).or_insert_with(|| "xterm-256color".into());
        pty::spawn(&Program { argv: &argv, env: &env, cwd: &self.cwd }, size, None)
    }

    /// The script's file.
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

    /// Runs an operation on this process's own terminal, without a limit; answers with its exit code, 128 and the signal's
    /// number when a signal ended it.
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

    /// The result of a call: its stdout, or why it counts as failed.
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

/// The end of what a script said, on one line, without what looks like a secret; `else_` when it said nothing.
fn stderr_tail(stderr: &[u8], else_: &str) -> String {
    let text = String::from_utf8_lossy(stderr);
    let said = secrets::mask(text.trim());
    let from = said.char_indices().map(|(at, _)| at).find(|at| said.len() - at <= MAX_REASON_BYTES).unwrap_or_default();
    let said = said.get(from..).unwrap_or_default().lines().map(str::trim).collect::<Vec<_>>().join(" ");
    if said.is_empty() { else_.to_owned() } else { said }
}
