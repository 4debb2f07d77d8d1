//! The state of a session: its root process, its program and its exit code.

use std::path::Path;
use std::{fs, io};

use super::dir::{START_FILE, STARTED_BY_FILE, STARTER_FILE, SessionDir};
use crate::os::process::{self, ProcessKey, ProcessStatus};

/// The root process.
const ROOT_FILE: &str = "root";
/// The program, once it was started.
const PROGRAM_FILE: &str = "program";
/// Its exit code, once it has ended.
const EXIT_CODE_FILE: &str = "ended";
/// Why it could not be started.
const START_FAILURE_FILE: &str = "refused";

/// The state of a session that is being started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartState {
    /// Its program has not been started yet.
    Pending,
    /// Its program was started.
    Started,
    /// Its program could not be started, and why.
    Failed(String),
    /// Its program has ended with this code.
    Exited(i32),
    /// The session does not exist, or its root process is gone.
    Gone,
}

impl SessionDir {
    /// Records the process `own` as the session's root process.
    ///
    /// # Errors
    /// When the session does not exist or is already running.
    pub fn become_root(&self, own: &ProcessKey) -> io::Result<()> {
        let _turn = self.lock_state_dir()?;
        if !self.file(START_FILE).exists() {
            return Err(self.not_found());
        }
        if self.is_alive()? {
            return Err(io::Error::other(format!("session '{}' already exists", self.name)));
        }
        self.set_root(own)
    }

    /// Records the process of the session's program. From then on the program counts as started.
    pub fn record_program(&self, program: &ProcessKey) -> io::Result<()> {
        self.write_file(PROGRAM_FILE, process_line(program).as_bytes())
    }

    /// The process of the session's program; `None` before the program was started.
    pub fn program(&self) -> Option<ProcessKey> {
        read_process_key(&self.file(PROGRAM_FILE))
    }

    pub fn record_exit(&self, code: i32) -> io::Result<()> {
        self.write_file(EXIT_CODE_FILE, code.to_string().as_bytes())
    }

    /// Records why the program could not be started. Does nothing for a session that does not exist.
    pub fn record_start_failure(&self, why: &str) {
        let _ = self.write_file(START_FAILURE_FILE, why.as_bytes());
    }

    /// Determines how far the start of the session has proceeded, from the session's files and its root process.
    pub fn start_state(&self) -> StartState {
        let text = |name: &str| fs::read_to_string(self.file(name)).ok();
        if let Some(code) = text(EXIT_CODE_FILE).and_then(|code| code.parse().ok()) {
            return StartState::Exited(code);
        }
        if let Some(why) = text(START_FAILURE_FILE) {
            return StartState::Failed(why);
        }
        match self.root().map(|root| root.status()) {
            // The exit code may have been written between the two reads.
            Some(ProcessStatus::Gone(_)) => {
                text(EXIT_CODE_FILE).and_then(|code| code.parse().ok()).map_or(StartState::Gone, StartState::Exited)
            }
            _ if !self.file(START_FILE).exists() => StartState::Gone,
            _ if self.program().is_some() => StartState::Started,
            _ => StartState::Pending,
        }
    }

    pub(super) fn set_root(&self, root: &ProcessKey) -> io::Result<()> {
        self.write_file(ROOT_FILE, process_line(root).as_bytes())
    }

    /// The session's root process; `None` before one was recorded.
    pub fn root(&self) -> Option<ProcessKey> {
        read_process_key(&self.file(ROOT_FILE))
    }

    /// Whether the session's root process is alive; an error when that cannot be determined.
    pub fn is_alive(&self) -> io::Result<bool> {
        match self.root().map(|root| root.status()) {
            None | Some(ProcessStatus::Gone(_)) => Ok(false),
            Some(ProcessStatus::Alive) => Ok(true),
            Some(ProcessStatus::Unknown(why)) => Err(io::Error::other(why)),
        }
    }

    /// Whether the session is not alive or its program has ended, so that input is pointless. The session may still be ending
    /// processes that the program left behind.
    pub fn has_exited(&self) -> io::Result<bool> {
        let is_gone = |key: ProcessKey| matches!(key.status(), ProcessStatus::Gone(_));
        Ok(!self.is_alive()? || self.file(EXIT_CODE_FILE).exists() || self.program().is_some_and(is_gone))
    }

    /// Whether the session is being started: the process that starts it is alive and has not finished the start.
    pub fn is_starting(&self) -> bool {
        read_process_key(&self.file(STARTER_FILE)).is_some_and(|starter| starter.status() == ProcessStatus::Alive)
    }

    /// The process that started the session or is starting it. It distinguishes this session from a later one of the same name.
    pub(super) fn started_by(&self) -> Option<ProcessKey> {
        [STARTER_FILE, STARTED_BY_FILE].iter().find_map(|name| read_process_key(&self.file(name)))
    }

    /// Whether this process belongs to the call that started the session, and not to another call for a session of the same name.
    pub fn is_started_by_us(&self) -> bool {
        let starter = read_process_key(&self.file(STARTER_FILE));
        // A starting process that is gone was a shell in between.
        starter.is_some_and(|starter| process::is_own_ancestor(&starter) || starter.status() != ProcessStatus::Alive)
            || read_process_key(&self.file(STARTED_BY_FILE)).is_some_and(|starter| process::is_own_ancestor(&starter))
    }
}

/// Formats a process as one line from which it can be identified again.
pub(super) fn process_line(key: &ProcessKey) -> String {
    format!("{} {} {}\n", key.pid, key.started, key.boot)
}

fn read_process_key(path: &Path) -> Option<ProcessKey> {
    let text = fs::read_to_string(path).ok()?;
    let mut fields = text.split_whitespace();
    Some(ProcessKey {
        pid: fields.next()?.parse().ok()?,
        started: fields.next()?.parse().ok()?,
        boot: fields.next()?.to_owned(),
    })
}
