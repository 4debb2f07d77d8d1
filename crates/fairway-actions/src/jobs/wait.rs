//! Waits for the end of jobs.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::output::JobReader;
use super::supervision::is_supervised;
use super::{find, queue_waiter, recover};
use crate::App;
use fairway_core::config::show_duration;
use fairway_core::domain::Refusal;
use fairway_core::domain::job::{Job, JobStatus};
use fairway_core::os::notify::ChangeWaiter;
use fairway_core::os::process::{self, ProcessKey, ProcessStatus};
use fairway_core::os::{files, host, poll};
use fairway_core::store::StoreError;
use fairway_core::supervisor::JobDir;
use fairway_core::wire::JobView;

/// Waits until each of these jobs has ended or has no supervisor, and returns them in the given order. `progress` is called
/// with their states first, and after each change.
///
/// # Errors
/// `nothing_arrived` at the time limit, `not_found`, `ambiguous`; store errors.
pub fn wait(
    app: &App,
    jobs: &[String],
    limit: Option<Duration>,
    mut progress: impl FnMut(&[Job]),
) -> Result<Vec<JobView>> {
    let until = limit.map(|limit| Instant::now() + limit);
    let mut found = app.read(|tx| jobs.iter().map(|job| find::of_actor(app, tx, job)).collect::<Result<Vec<Job>>>())?;
    let mut waiting: Vec<Option<JobWaiter>> = Vec::new();
    for job in &found {
        waiting.push(if job.status.is_final() { None } else { Some(JobWaiter::new(app, job)?) });
    }
    if found.iter().any(|job| job.status == JobStatus::Queued) {
        // The queue waiter may have been killed. If it cannot be started now, another process may still start the job.
        let _ = queue_waiter::ensure_running(app);
    }
    loop {
        for waiter in waiting.iter().flatten() {
            waiter.drain()?;
        }
        refresh(app, &mut found)?;
        recover_unsupervised(app, &mut found)?;
        progress(&found);
        for (waiting, job) in waiting.iter_mut().zip(&found) {
            match waiting {
                Some(_) if job.status.is_final() || !is_supervised(app, job) => *waiting = None,
                Some(waiting) => waiting.track_supervisor(job),
                None => {}
            }
        }
        if waiting.iter().all(Option::is_none) {
            let mut reader = JobReader::new();
            return Ok(found.iter().map(|job| reader.view(app, job)).collect());
        }
        if !wait_any(waiting.iter().flatten(), until) {
            return Err(Refusal::WaitTimedOut { within: show_duration(limit.unwrap_or_default()) }.into());
        }
    }
}

/// Recovers the jobs whose supervisor died, so that the wait for them ends.
fn recover_unsupervised(app: &App, jobs: &mut [Job]) -> Result<()> {
    let mut is_changed = false;
    for job in jobs.iter().filter(|job| !is_supervised(app, job)) {
        is_changed |= recover::recover_one(app, job)?.is_some();
    }
    if is_changed { refresh(app, jobs) } else { Ok(()) }
}

/// Reads the jobs again that are not final.
fn refresh(app: &App, jobs: &mut [Job]) -> Result<()> {
    app.read(|tx| {
        for job in jobs.iter_mut().filter(|job| !job.status.is_final()) {
            *job = find::job(tx, &job.id.to_string())?;
        }
        Ok(())
    })
}

/// Poll interval while a job is handed to its supervisor, and when its supervisor has just ended. In these states there is no process
/// whose end tells more: the process that claimed a job may outlive a supervisor that died.
const HANDOVER_POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct JobWaiter {
    waiter: ChangeWaiter,
    /// The supervisor, with a pidfd that becomes readable when it ends.
    supervisor: Option<(ProcessKey, OwnedFd)>,
    is_polled: bool,
}

impl JobWaiter {
    /// Registers a waiter. Read the job after this and after each wait, so that no change is missed.
    pub fn new(app: &App, job: &Job) -> Result<Self> {
        let dir = JobDir::of(&app.project.jobs_dir(), &job.id).wake_dir();
        let name = format!("{}-{}", std::process::id(), app.env.ids.random_suffix());
        let waiter = files::private_dir(&dir)
            .and_then(|()| ChangeWaiter::bind(&dir, &name))
            .map_err(|error| StoreError::io(format!("to wait for job {}: {}", job.id, dir.display()), error))?;
        Ok(Self { waiter, supervisor: None, is_polled: false })
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
        // One that ended after the job was read may have sent its last wake-up before that: nothing would end the sleep.
        let has_ended =
            !is_there && job.status == JobStatus::Running && host::identity().owns(&job.host, job.host_id.as_deref());
        self.is_polled = has_ended || job.status == JobStatus::Starting;
    }

    fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.waiter.as_fd()].into_iter().chain(self.supervisor.as_ref().map(|(_, end)| end.as_fd()))
    }
}

/// Sleeps until one of the jobs may have changed. Returns `false` when the deadline has passed.
pub fn wait_any<'a>(all: impl IntoIterator<Item = &'a JobWaiter>, until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    if left.is_some_and(|left| left.is_zero()) {
        return false;
    }
    let (mut ends, mut limit) = (Vec::new(), left);
    for waiter in all {
        ends.extend(waiter.fds());
        if waiter.is_polled {
            limit = Some(limit.map_or(HANDOVER_POLL_INTERVAL, |limit| limit.min(HANDOVER_POLL_INTERVAL)));
        }
    }
    poll::wait_readable(&ends, limit);
    true
}
