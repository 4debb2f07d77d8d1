//! The ends of the processes of live sessions, without polling.

use std::{
    collections::BTreeMap,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use crate::{
    os::process,
    wire::{BoardView, SessionOverviewView},
};

/// A descriptor for each process of a session that the board shows as alive. It becomes readable when the process ends.
#[derive(Debug, Default)]
pub struct SessionDeaths {
    watched: BTreeMap<i64, OwnedFd>,
}

impl SessionDeaths {
    /// Watches the processes of this board from now on. A process that ends in between is readable at once, or gone: then the
    /// result is true, and the board is to be composed anew.
    #[must_use]
    pub fn follow(&mut self, board: &BoardView) -> bool {
        let in_lanes = board.lanes.iter().flat_map(|lane| &lane.sessions);
        let alive: Vec<i64> = in_lanes.chain(&board.sessions).filter_map(local_process).collect();
        self.watched.retain(|pid, _| alive.contains(pid));
        let mut has_missed = false;
        for pid in alive {
            if self.watched.contains_key(&pid) {
                continue;
            }
            match i32::try_from(pid).map(process::pidfd) {
                Ok(Ok(Some(end))) => drop(self.watched.insert(pid, end)),
                Ok(Ok(None)) => has_missed = true,
                // Without a descriptor the death is shown at the next event.
                _ => {}
            }
        }
        has_missed
    }

    /// The descriptors, in the order in which [`Self::forget`] counts.
    #[must_use]
    pub fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.watched.values().map(AsFd::as_fd).collect()
    }

    /// Watches no more what has ended: those at the places that are true.
    pub fn forget(&mut self, ended: &[bool]) {
        let mut places = ended.iter();
        self.watched.retain(|_, _| !places.next().copied().unwrap_or(false));
    }
}

/// The process of a session that was seen alive on this host.
fn local_process(one: &SessionOverviewView) -> Option<i64> {
    one.session.pid.filter(|_| one.alive.alive == Some(true) && one.alive.alive_source == "process")
}
