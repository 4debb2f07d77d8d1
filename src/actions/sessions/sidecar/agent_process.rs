//! The agent's process, of which the kernel tells when it ends.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::{
    actions::sessions::liveness::facts,
    domain::{rules::liveness::ProcessObservation, session::Session},
    os::{
        host,
        process::{self, ProcessKey, ProcessStatus},
    },
};

/// The process that a session names, once it was seen.
#[derive(Debug, Default)]
pub(super) struct AgentProcess {
    known: Option<(ProcessKey, OwnedFd)>,
}

impl AgentProcess {
    /// Whether it is certain that the process is gone which the session names on this host. From now on its end wakes.
    pub(super) fn has_exited(&mut self, session: &Session) -> bool {
        if session.host != host::identity() {
            self.known = None;
            return false;
        }
        let key = ProcessKey::from_record(session.pid, session.pid_started, session.boot_id.as_deref());
        if key.as_ref() != self.known.as_ref().map(|(known, _)| known) {
            self.known = key.and_then(|key| {
                // Its identity is checked after its descriptor pins it.
                let end = process::pidfd(key.pid).ok().flatten()?;
                (key.status() == ProcessStatus::Alive).then_some((key, end))
            });
        }
        matches!(facts::process_state(session), ProcessObservation::Gone(_))
    }

    /// Whether it was seen to be there.
    pub(super) fn is_alive(&self) -> bool {
        self.known.as_ref().is_some_and(|(key, _)| key.status() == ProcessStatus::Alive)
    }

    /// Readable when it has ended.
    pub(super) fn exit_fd(&self) -> Option<BorrowedFd<'_>> {
        self.known.as_ref().map(|(_, end)| end.as_fd())
    }
}
