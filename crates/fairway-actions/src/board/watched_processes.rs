//! The processes whose end changes the board without an event.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use crate::core::session_process::{self, RunProcesses};
use fairway_core::domain::SessionId;
use fairway_core::domain::session::Session;
use fairway_core::domain::session_facts::{AliveSource, SessionOverview};
use fairway_core::os::{poll, process};

/// A process id, and a descriptor that becomes readable when the process ends.
pub type WatchedProcess = (i32, Arc<OwnedFd>);

/// The watched processes by session: of a live session the process that proves it alive, or the server of its pane; of
/// a dead one its leftover processes.
#[derive(Debug, Clone, Default)]
pub(super) struct Watches {
    is_on: bool,
    watched: BTreeMap<SessionId, Vec<WatchedProcess>>,
    /// Sessions of which a process has ended since the last board.
    ended: BTreeSet<SessionId>,
}

impl Watches {
    /// Watches for a board that is composed repeatedly. The default value watches nothing.
    pub(super) fn on() -> Self {
        Self { is_on: true, ..Self::default() }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// The descriptors, in the order of the flags for [`Self::note`].
    pub(super) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.watched.values().flatten().map(|(_, end)| end.as_fd()).collect()
    }

    pub(super) fn processes(&self) -> Vec<WatchedProcess> {
        self.watched.values().flatten().cloned().collect()
    }

    /// Stops watching the processes whose flag is set, and marks their sessions to be judged again.
    pub(super) fn note(&mut self, ended: &[bool]) {
        let mut places = ended.iter();
        for (session, processes) in &mut self.watched {
            processes.retain(|_| {
                let is_ended = places.next().copied().unwrap_or(false);
                if is_ended {
                    self.ended.insert(session.clone());
                }
                !is_ended
            });
        }
    }

    /// Checks which watched processes have ended by now, without waiting.
    pub(super) fn look(&mut self) {
        let ended = poll::wait_readable(&self.fds(), Some(Duration::ZERO));
        if ended.contains(&true) {
            self.note(&ended);
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Whether to judge a session again although its row is unchanged: its process has ended or is not watched.
    pub(super) fn is_due(&self, one: &SessionOverview) -> bool {
        let id = &one.session.id;
        let is_watched = |pid| self.watched.get(id).is_some_and(|all| all.iter().any(|(one, _)| *one == pid));
        self.ended.contains(id) || watched_pid(one).is_some_and(|pid| !is_watched(pid))
    }

    /// Watches the process of a session before it is judged, so that no end is missed in between.
    pub(super) fn begin(&mut self, session: &Session) {
        self.watched.remove(&session.id);
        if self.is_on && session_process::is_local(session) {
            let pid = session.pid.or(session.server_pid).and_then(|pid| i32::try_from(pid).ok());
            // Without a descriptor the session is judged each time.
            if let Some((pid, Ok(Some(end)))) = pid.map(|pid| (pid, process::pidfd(pid))) {
                self.watched.insert(session.id.clone(), vec![(pid, Arc::new(end))]);
            }
        }
    }

    /// Stops watching a session whose state no longer depends on a process.
    pub(super) fn settle(&mut self, one: &SessionOverview) {
        if watched_pid(one).is_none() {
            self.watched.remove(&one.session.id);
        }
    }

    /// Keeps only the watches of these sessions. The caller must have judged the sessions whose processes had ended.
    pub(super) fn retain(&mut self, is_there: impl Fn(&SessionId) -> bool) {
        self.watched.retain(|id, _| is_there(id));
        self.ended.clear();
    }

    /// Watches the known leftover processes of dead sessions.
    pub(super) fn follow_rest(&mut self, sessions: &[SessionOverview], processes: &RunProcesses) {
        for one in sessions.iter().filter(|one| self.is_on && one.is_over()) {
            for pid in processes.known(&one.session.run_id) {
                let watched = self.watched.entry(one.session.id.clone()).or_default();
                if watched.iter().any(|(known, _)| known == pid) {
                    continue;
                }
                match process::pidfd(*pid) {
                    Ok(Some(end)) => watched.push((*pid, Arc::new(end))),
                    Ok(None) => drop(self.ended.insert(one.session.id.clone())),
                    Err(_) => {}
                }
            }
        }
    }
}

/// The process whose end would change the judgement on a session.
fn watched_pid(one: &SessionOverview) -> Option<i32> {
    let session = &one.session;
    let pid = match (one.alive.alive, one.alive.source) {
        (Some(true), AliveSource::Process) => session.pid,
        (Some(true), AliveSource::Program) => session_process::living_process(session),
        (None, _) if session_process::is_local(session) => session.pid.or(session.server_pid),
        _ => None,
    };
    pid.map(|pid| i32::try_from(pid).unwrap_or_default())
}
