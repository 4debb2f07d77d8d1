//! Waiting for a change of the project: of its store, or the end of a live session's process, which may leave no trace there.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::app::App;
use super::{errors, session_process};
use fairway_core::domain::rules::staleness::ProcessObservation;
use fairway_core::env::Timestamp;
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::os::poll_until::sleep;
use fairway_core::os::{poll, process};
use fairway_core::store::sessions;

/// The limits of the delay after a wake-up, in which further changes are collected for one round.
const MIN_DELAY: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_secs(1);
/// While changes come without a pause, rounds use at most this part of a core: one divided by this number.
const SHARE: u32 = 40;
/// The longest time to wait at once, because clocks are set and computers sleep.
const MAX_WAIT: Duration = Duration::from_secs(15 * 60);

/// A round of a loop that looks at the project, then waits.
#[derive(Debug)]
pub struct Round {
    begun: Instant,
    processes: Vec<OwnedFd>,
}

impl Round {
    /// To be called before the look: a process that ends meanwhile wakes. With `watches` processes of live sessions are watched.
    pub fn begin(app: &App, watches: bool) -> Result<Self> {
        Ok(Self { begun: Instant::now(), processes: if watches { live_processes(app)? } else { Vec::new() } })
    }

    /// Waits for a change, the end of a process, one of the `other` descriptors, or until `next`. After a change it collects
    /// further ones for a moment.
    pub fn wait(
        self,
        waiter: &ChangeWaiter,
        other: &[BorrowedFd<'_>],
        next: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<()> {
        let cost = self.begun.elapsed();
        let mut fds = vec![waiter.as_fd()];
        fds.extend(self.processes.iter().map(|process| process.as_fd()));
        let changes = fds.len();
        fds.extend(other);
        let ready = poll::wait_readable(&fds, next.map(|next| time_left(next, now)));
        if ready.iter().take(changes).any(|is_ready| *is_ready) {
            sleep((cost * SHARE).clamp(MIN_DELAY, MAX_DELAY));
            waiter.drain().map_err(errors::internal)?;
        }
        Ok(())
    }
}

/// The time until `next`, plus a millisecond, so that `next` is over afterwards.
fn time_left(next: Timestamp, now: Timestamp) -> Duration {
    next.since(now).saturating_add(Duration::from_millis(1)).min(MAX_WAIT)
}

/// Descriptors that become readable when the process of a live session on this host ends.
fn live_processes(app: &App) -> Result<Vec<OwnedFd>> {
    let live = app.read(|tx| Ok(sessions::live(tx)?))?;
    let local = live.iter().filter(|session| session_process::is_local(session));
    let opened = local.filter_map(|session| {
        let pid = i32::try_from(session.pid?).ok()?;
        let process = process::pidfd(pid).ok()??;
        // The pid may belong to another process by now.
        matches!(session_process::process_state(session), ProcessObservation::Alive).then_some(process)
    });
    Ok(opened.collect())
}
