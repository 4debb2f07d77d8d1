//! The calls that the server needs from the command line that starts it.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Error, Result};
use serde_json::Value;

use fairway_actions::App;
use fairway_actions::core::errors;
use fairway_core::os::capture::{Call, GRACE, capture_and_announce, terminate_group};
use fairway_core::os::executable;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::poll_until::poll_until;
use fairway_core::wire::Failure;

/// Makes the context of each call, as the command line makes the context of a command.
pub trait Calls: Send + Sync + 'static {
    /// The context of one call; nothing is open yet.
    ///
    /// # Errors
    /// `no_project`, a broken configuration, a variable with an invalid value.
    fn app(&self) -> Result<App>;

    /// The failure that the command line would print.
    fn failure(&self, error: &Error) -> Failure;

    /// The flags, environment and directory for a command of this program that runs as a child.
    fn command(&self) -> OwnCommand;
}

/// The global flags, the environment and the directory of every command of this program as a child.
#[derive(Debug, Clone)]
pub struct OwnCommand {
    pub flags: Vec<OsString>,
    pub env: BTreeMap<OsString, OsString>,
    pub cwd: PathBuf,
}

/// The time limit of a command. The program that the command runs has a limit of its own.
const LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_OUTPUT_BYTES: usize = 32 << 20;

#[derive(Debug, Default, Clone)]
pub(super) struct Children(Arc<Mutex<HashSet<i32>>>);

#[derive(Debug)]
pub(super) enum Printed {
    /// The document on stdout, and the text on stderr.
    Document(Value, String),
    /// The unchanged error document of a command that failed.
    Error(Value),
}

impl Children {
    fn lock(&self) -> MutexGuard<'_, HashSet<i32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn run(&self, own: OwnCommand, args: &[OsString], stdin: &[u8]) -> Result<Printed> {
        let program = executable::current_executable().context("cannot find the program of this server")?;
        let args: Vec<OsString> = own.flags.into_iter().chain(["--json".into()]).chain(args.iter().cloned()).collect();
        let call = Call {
            program: &program,
            args: &args,
            env: &own.env,
            cwd: &own.cwd,
            stdin,
            limit: LIMIT,
            ends_group: false,
        };
        let mut child = None;
        let ran = capture_and_announce(&call, MAX_OUTPUT_BYTES, |pid| {
            child = Some(pid);
            self.lock().insert(pid);
        });
        if let Some(pid) = child {
            self.lock().remove(&pid);
        }
        let ran = ran.context("cannot run the command")?;
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        if let Ok(document) = serde_json::from_slice(&ran.stdout) {
            return Ok(Printed::Document(document, stderr));
        }
        let last = stderr.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
        match last.and_then(|mut document| document.get_mut("error").map(Value::take)) {
            Some(error) => Ok(Printed::Error(error)),
            None => Err(match ran.exit {
                ExitReason::Code(code) => errors::internal(format!("the command exited with {code} and no document")),
                _ => errors::internal("the command was ended before it had an answer"),
            }),
        }
    }

    /// Terminates the child commands that still run, each of which ends the program that it runs. Waits until they have ended,
    /// but at most twice `GRACE`.
    pub(super) fn terminate(&self) {
        let running: Vec<i32> = self.lock().iter().copied().collect();
        for pid in running {
            terminate_group(pid);
        }
        poll_until(GRACE * 2, Duration::from_millis(20), || self.lock().is_empty().then_some(()));
    }
}
