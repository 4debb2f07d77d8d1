//! The agent's process, with a pidfd that signals its exit.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::sessions::liveness::facts;
use fairway_core::domain::rules::staleness::ProcessObservation;
use fairway_core::domain::session::Session;
use fairway_core::os::host;
use fairway_core::os::process::{self, ProcessKey, ProcessStatus};

/// The recorded process of a session, from the time when it was first seen alive.
#[derive(Debug, Default)]
pub(super) struct AgentProcess {
    known: Option<(ProcessKey, OwnedFd)>,
}

impl AgentProcess {
    /// Whether the session's recorded process has certainly exited on this host. After this call [`Self::exit_fd`] signals the
    /// exit of a process that is alive.
    pub(super) fn has_exited(&mut self, session: &Session) -> bool {
        if !host::identity().owns(&session.host, session.host_id.as_deref()) {
            self.known = None;
            return false;
        }
        let key = ProcessKey::from_record(session.pid, session.pid_started, session.boot_id.as_deref());
        if key.as_ref() != self.known.as_ref().map(|(known, _)| known) {
            self.known = key.and_then(|key| {
                // Checked after the pidfd pins the process: the kernel may reuse a pid.
                let end = process::pidfd(key.pid).ok().flatten()?;
                (key.status() == ProcessStatus::Alive).then_some((key, end))
            });
        }
        matches!(facts::process_state(session), ProcessObservation::Gone(_))
    }

    /// Whether the process that [`Self::has_exited`] found still runs; `false` when it found none.
    pub(super) fn is_alive(&self) -> bool {
        self.known.as_ref().is_some_and(|(key, _)| key.status() == ProcessStatus::Alive)
    }

    /// A descriptor that becomes readable when the process exits; `None` when no running process is known.
    pub(super) fn exit_fd(&self) -> Option<BorrowedFd<'_>> {
        self.known.as_ref().map(|(_, end)| end.as_fd())
    }
}
