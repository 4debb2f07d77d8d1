//! Waits for jobs without polling: each write about a job wakes its waiters, and so does the end of its supervisor.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use crate::{
    actions::App,
    domain::job::{Job, JobStatus},
    os::{
        files,
        notify::ChangeWaiter,
        poll,
        process::{self, ProcessKey, ProcessStatus},
    },
    store::StoreError,
    supervisor::JobDir,
};

/// Poll interval while a job is handed to its supervisor. In this state there is no process whose end tells that the start
/// failed: the process that claimed the job may outlive a supervisor that died.
const HANDOVER_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A waiter for changes of one job.
#[derive(Debug)]
pub struct JobWaiter {
    waiter: ChangeWaiter,
    /// The supervisor and its pidfd.
    supervisor: Option<(ProcessKey, OwnedFd)>,
    is_starting: bool,
}

impl JobWaiter {
    /// Registers a waiter. Read the job after this and after each wait, so that no change is missed.
    pub fn new(app: &App, job: &Job) -> Result<Self> {
        let dir = JobDir::of(&app.project.jobs_dir(), &job.id).wake_dir();
        let name = format!("{}-{}", std::process::id(), app.env.ids.random_suffix());
        let waiter = files::private_dir(&dir)
            .and_then(|()| ChangeWaiter::bind(&dir, &name))
            .map_err(|error| StoreError::io(format!("to wait for job {}: {}", job.id, dir.display()), error))?;
        Ok(Self { waiter, supervisor: None, is_starting: false })
    }

    /// Discards pending wake-ups. Call it before each read of the job.
    pub fn drain(&self) -> Result<()> {
        self.waiter.drain().context("cannot read the wake-up socket")
    }

    /// Follows the job's current supervisor. Call it after each read of the job.
    pub fn track_supervisor(&mut self, job: &Job) {
        let key = ProcessKey::from_record(job.supervisor_pid, job.supervisor_started, Some(&job.boot_id));
        if key.is_none() || key.as_ref() != self.supervisor.as_ref().map(|(known, _)| known) {
            // Checked after the pidfd is open: only then the pid cannot be reused.
            self.supervisor = key.and_then(|key| {
                let end = process::pidfd(key.pid).ok().flatten()?;
                (key.status() == ProcessStatus::Alive).then_some((key, end))
            });
        }
        let is_there = self.supervisor.as_ref().is_some_and(|(key, _)| key.status() == ProcessStatus::Alive);
        if !is_there {
            self.supervisor = None;
        }
        self.is_starting = job.status == JobStatus::Starting;
    }

    fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.waiter.as_fd()].into_iter().chain(self.supervisor.as_ref().map(|(_, end)| end.as_fd()))
    }
}

/// Sleeps until one of the jobs may have changed. `false` when the deadline has passed.
pub fn wait_any<'a>(all: impl IntoIterator<Item = &'a JobWaiter>, until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    if left.is_some_and(|left| left.is_zero()) {
        return false;
    }
    let (mut ends, mut limit) = (Vec::new(), left);
    for waiter in all {
        ends.extend(waiter.fds());
        if waiter.is_starting {
            limit = Some(limit.map_or(HANDOVER_POLL_INTERVAL, |limit| limit.min(HANDOVER_POLL_INTERVAL)));
        }
    }
    poll::wait_readable(&ends, limit);
    true
}
