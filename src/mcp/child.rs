//! Commands of this program as children, for the two tools that run programs: signals and descendants of a program belong to
//! the process that runs it.

use std::{
    collections::HashSet,
    ffi::OsString,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::calls::OwnCommand;
use crate::{
    actions::core::errors,
    os::{
        capture::{Call, GRACE, capture_and_announce, terminate_group},
        executable,
        exit_reason::ExitReason,
        poll_until::poll_until,
    },
};

/// The longest time of a command. The program that it runs has a limit of its own.
const LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// The most output of a command, in bytes.
const MAX_OUTPUT_BYTES: usize = 32 << 20;

/// The children of this server.
#[derive(Debug, Default, Clone)]
pub(super) struct Children(Arc<Mutex<HashSet<i32>>>);

/// The output of a command.
#[derive(Debug)]
pub(super) enum Printed {
    /// Its document, and its stderr.
    Document(Value, String),
    /// Its error document, as it stands.
    Error(Value),
}

impl Children {
    fn lock(&self) -> MutexGuard<'_, HashSet<i32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a command of this program with `--json`.
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

    /// Ends the commands that still run, and waits for them; each ends the program that it runs.
    pub(super) fn terminate(&self) {
        let running: Vec<i32> = self.lock().iter().copied().collect();
        for pid in running {
            terminate_group(pid);
        }
        poll_until(GRACE * 2, Duration::from_millis(20), || self.lock().is_empty().then_some(()));
    }
}
