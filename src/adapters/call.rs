//! Calling a script: one operation, one deadline, one verdict.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{AdapterError, Report, StartConfig, bare};
use crate::{
    domain::secrets,
    env::{Env, vars},
    os::{
        capture::{self, Call, Captured, End},
        files, program,
    },
};

/// How long an operation may take, `start` and `attach` apart.
const LIMIT: Duration = Duration::from_secs(30);
/// Exit codes that mean something of their own.
const UNSUPPORTED: i32 = 2;
const LATER: i32 = 75;
/// How much of what a script said on stderr is told on, in bytes.
const TAIL: usize = 2_000;

/// What a question was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// `true`.
    Yes,
    /// `false`.
    No,
    /// Neither, and why: not dead and not alive.
    Unknown(String),
}

/// A script together with the state folder that it is always called with.
#[derive(Debug, Clone)]
pub struct Adapter {
    script: PathBuf,
    state: PathBuf,
    env: BTreeMap<OsString, OsString>,
    cwd: PathBuf,
}

impl Adapter {
    /// A script that is called from `cwd`. Runs nothing and writes nothing yet.
    ///
    /// # Errors
    /// When this program's own file cannot be told.
    pub fn new(script: &Path, state: &Path, cwd: &Path, env: &Env) -> io::Result<Self> {
        let mut around = bare(env);
        around.insert(vars::FAIRWAY_BIN.into(), program::own()?.into());
        for name in [vars::FAIRWAY_ADAPTER_STATE, vars::GC_EXEC_STATE_DIR] {
            around.insert(name.into(), state.into());
        }
        Ok(Self { script: script.into(), state: state.into(), env: around, cwd: cwd.into() })
    }

    /// The script's file.
    #[must_use]
    pub fn script(&self) -> &Path {
        &self.script
    }

    fn call(
        &self,
        operation: &str,
        args: &[&str],
        stdin: &[u8],
        limit: Duration,
        starts: bool,
    ) -> io::Result<Captured> {
        files::private_dir(&self.state)?;
        let args: Vec<OsString> = std::iter::once(operation).chain(args.iter().copied()).map(OsString::from).collect();
        let (program, env, cwd) = (&self.script, &self.env, &self.cwd);
        capture::capture(&Call { program, args: &args, env, cwd, stdin, limit, ends_group: starts })
    }

    /// Starts a session.
    ///
    /// # Errors
    /// By what the script did; `Exists` when it says that a live one of that name is there.
    pub fn start(&self, name: &str, config: &StartConfig, limit: Duration) -> Result<Option<Report>, AdapterError> {
        let text = serde_json::to_vec(config)
            .map_err(|error| self.failed("start", format!("the configuration cannot be written: {error}")))?;
        let done = self.call("start", &[name], &text, limit, true);
        let said = self.settled("start", done, limit).map_err(|error| match error {
            AdapterError::Failed { script, why, .. } if why.contains("already exists") => {
                AdapterError::Exists { script, why: hidden(&why, config) }
            }
            AdapterError::Failed { script, operation, why } => {
                AdapterError::Failed { script, operation, why: hidden(&why, config) }
            }
            AdapterError::Later { script, operation, why } => {
                AdapterError::Later { script, operation, why: hidden(&why, config) }
            }
            error => error,
        })?;
        Ok(Report::read(&said))
    }

    /// Stops a session; one that is not there is no failure.
    ///
    /// # Errors
    /// By what the script did.
    pub fn stop(&self, name: &str) -> Result<(), AdapterError> {
        self.settled("stop", self.call("stop", &[name], b"", LIMIT, false), LIMIT).map(drop)
    }

    /// Asks whether a session runs.
    ///
    /// # Errors
    /// When it cannot be told: not dead and not alive.
    pub fn runs(&self, name: &str) -> Result<bool, AdapterError> {
        let operation = "is-running";
        let said = self.settled(operation, self.call(operation, &[name], b"", LIMIT, false), LIMIT)?;
        match said.trim_ascii() {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(self.failed(operation, "it answered neither true nor false".to_owned())),
        }
    }

    /// The same as a word.
    #[must_use]
    pub fn is_running(&self, name: &str) -> Known {
        match self.runs(name) {
            Ok(true) => Known::Yes,
            Ok(false) => Known::No,
            Err(error) => Known::Unknown(error.to_string()),
        }
    }

    /// Whether the session of this name is the one of this run; `None` when the script does not tell.
    #[must_use]
    pub fn is_of_run(&self, name: &str, run: &str) -> Option<bool> {
        self.get_meta(name, vars::FAIRWAY_RUN_ID).map(|named| named == run)
    }

    /// The last lines that a session shows; all of them for 0 lines.
    ///
    /// # Errors
    /// By what the script did.
    pub fn peek(&self, name: &str, lines: u32) -> Result<String, AdapterError> {
        let said = self.call("peek", &[name, &lines.to_string()], b"", LIMIT, false);
        Ok(String::from_utf8_lossy(&self.settled("peek", said, LIMIT)?).into_owned())
    }

    /// A value that a session holds, or one of its start environment; `None` when it cannot be told.
    #[must_use]
    pub fn get_meta(&self, name: &str, key: &str) -> Option<String> {
        let said = self.settled("get-meta", self.call("get-meta", &[name, key], b"", LIMIT, false), LIMIT).ok()?;
        String::from_utf8(said).ok().map(|value| value.trim_end().to_owned()).filter(|value| !value.is_empty())
    }

    /// What a call comes to: its stdout, or why it counts as failed.
    fn settled(
        &self,
        operation: &'static str,
        done: io::Result<Captured>,
        limit: Duration,
    ) -> Result<Vec<u8>, AdapterError> {
        let script = self.script.clone();
        let done = done.map_err(|source| AdapterError::Unrunnable { script: script.clone(), source })?;
        match done.end {
            End::Exit(0) => Ok(done.stdout),
            End::Exit(UNSUPPORTED) => Err(AdapterError::Unsupported { script, operation }),
            End::Exit(LATER) => Err(AdapterError::Later { script, operation, why: tail(&done.stderr, "exit code 75") }),
            End::Exit(code) => Err(self.failed(operation, tail(&done.stderr, &format!("exit code {code}")))),
            End::Signal(signal) => Err(self.failed(operation, tail(&done.stderr, &format!("signal {signal}")))),
            End::TimedOut => Err(AdapterError::TimedOut { script, operation, seconds: limit.as_secs() }),
        }
    }

    fn failed(&self, operation: &'static str, why: String) -> AdapterError {
        AdapterError::Failed { script: self.script.clone(), operation, why }
    }
}

/// Text without the secrets that the session was given, whatever their form.
fn hidden(text: &str, config: &StartConfig) -> String {
    let given = config.env.iter().flatten().filter(|(name, value)| secrets::is_secret_name(name) && !value.is_empty());
    given.fold(text.to_owned(), |text, (_, value)| text.replace(value.as_str(), secrets::MASK))
}

/// The end of what a script said, on one line, without what looks like a secret; `else_` when it said nothing.
fn tail(stderr: &[u8], else_: &str) -> String {
    let text = String::from_utf8_lossy(stderr);
    let said = secrets::masked(text.trim());
    let from = said.char_indices().map(|(at, _)| at).find(|at| said.len() - at <= TAIL).unwrap_or_default();
    let said = said.get(from..).unwrap_or_default().lines().map(str::trim).collect::<Vec<_>>().join(" ");
    if said.is_empty() { else_.to_owned() } else { said }
}
