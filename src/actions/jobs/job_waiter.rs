//! Waiting for runs. Nobody polls: whoever writes about a run wakes those who wait for it, and the end of whoever looks after
//! it wakes them too.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use crate::{
    actions::App,
    domain::job::{Job, JobStatus},
    os::{
        notify::ChangeWaiter,
        process::{self, ProcessKey, ProcessStatus},
        spawn_detached,
    },
    store::StoreError,
    supervisor::JobDir,
};

/// How soon to look again at a run that is being handed from the one who took it to its supervisor: a moment in which nobody's
/// end can be waited for. Whoever took it may well live on when its supervisor has died.
const HANDOVER_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// One who waits for a run.
#[derive(Debug)]
pub struct JobWaiter {
    waiter: ChangeWaiter,
    /// Whoever looks after the run, and what tells of their end.
    supervisor: Option<(ProcessKey, OwnedFd)>,
    is_starting: bool,
}

impl JobWaiter {
    /// Waits for a run from now on. Look at the run after this, then after each wait: so nothing is missed.
    ///
    /// # Errors
    /// When nothing can be bound in the run's directory.
    pub fn new(app: &App, run: &Job) -> Result<Self> {
        let dir = JobDir::of(&app.project.jobs_dir(), &run.id).wake_dir();
        let name = format!("{}-{}", std::process::id(), app.env.ids.random_suffix());
        let waiter = ChangeWaiter::bind(&dir, &name)
            .map_err(|error| StoreError::io(format!("to wait for run {}: {}", run.id, dir.display()), error))?;
        Ok(Self { waiter, supervisor: None, is_starting: false })
    }

    /// Forgets the wakes that came so far: to be called before each look.
    ///
    /// # Errors
    /// When the socket fails.
    pub fn drain(&self) -> Result<()> {
        self.waiter.drain().context("a waiter cannot be read")
    }

    /// Takes note of who looks after the run by now: to be called after each look.
    pub fn track_supervisor(&mut self, run: &Job) {
        let key = ProcessKey::from_record(run.supervisor_pid, run.supervisor_started, Some(&run.boot_id));
        if key.is_none() || key.as_ref() != self.supervisor.as_ref().map(|(known, _)| known) {
            // Its identity is checked after its descriptor pins it.
            self.supervisor = key.and_then(|key| {
                let end = process::pidfd(key.pid).ok().flatten()?;
                (key.status() == ProcessStatus::Alive).then_some((key, end))
            });
        }
        let is_there = self.supervisor.as_ref().is_some_and(|(key, _)| key.status() == ProcessStatus::Alive);
        if !is_there {
            self.supervisor = None;
        }
        self.is_starting = run.status == JobStatus::Starting;
    }

    fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.waiter.as_fd()].into_iter().chain(self.supervisor.as_ref().map(|(_, end)| end.as_fd()))
    }
}

/// Sleeps until something has happened to one of the runs, or the time is over. `false` when it is over.
#[must_use]
pub fn wait_any<'a>(all: impl IntoIterator<Item = &'a JobWaiter>, until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    if left.is_some_and(|left| left.is_zero()) {
        return false;
    }
    let (mut ends, mut limit) = (Vec::new(), left);
    for one in all {
        ends.extend(one.fds());
        if one.is_starting {
            limit = Some(limit.map_or(HANDOVER_POLL_INTERVAL, |limit| limit.min(HANDOVER_POLL_INTERVAL)));
        }
    }
    spawn_detached::wait_readable(&ends, limit);
    true
}
