//! Starts queued jobs in the order of spawning: a job may start when its queue is free and `exec.parallel` is not reached.

use anyhow::{Context as _, Result};

use super::{finish, launch_supervisor, own_process, queue_waiter};
use crate::{
    actions::App,
    domain::job::{Job, JobResult, JobStatus},
    os::host,
    store::{ReadTx, WriteTx, jobs},
    supervisor::JobDir,
};

/// Starts every queued job of this host that may start now. While jobs stay queued, a queue waiter runs.
pub fn schedule(app: &App) -> Result<()> {
    start_eligible(app)?;
    queue_waiter::ensure_running(app)
}

/// The result of [`start_eligible`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Started {
    /// The number of started jobs.
    pub count: usize,
    /// The next job may start, but another process has its lock.
    pub is_blocked: bool,
}

/// Like [`schedule`], without the queue waiter.
pub(super) fn start_eligible(app: &App) -> Result<Started> {
    let mut started = Started::default();
    while let Some(job) = app.read(|tx| next_eligible(app, tx))? {
        let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
        if !dir.path().is_dir() {
            if is_queued(app, &job)? {
                mark_lost(app, &job, "its directory is missing")?;
            }
            continue;
        }
        // The lock holder decides about the job. A process that releases the lock schedules again or wakes the queue waiter.
        let hold = dir.try_lock().with_context(|| format!("cannot lock {}", dir.path().display()))?;
        let Some(hold) = hold else {
            started.is_blocked = true;
            break;
        };
        // Read again: it may have changed before the lock was taken.
        if !is_queued(app, &job)? {
            continue;
        }
        let start = match dir.start_spec() {
            Ok(start) => start,
            Err(error) => {
                mark_lost(app, &job, &format!("cannot read its start file: {error}"))?;
                continue;
            }
        };
        let Some(start) = start.filter(|_| !dir.has_started()) else {
            // A restored store may list jobs as queued that have run since the backup.
            match dir.read_result() {
                Some(ending) => finish::finish_unsupervised(app, &job, &ending)?,
                None => mark_lost(app, &job, "its start file is missing; it may have run before")?,
            };
            continue;
        };
        let own = own_process::own_process()?;
        if app.transaction(|tx| {
            Ok(next_eligible(app, tx)?.is_some_and(|next| next.id == job.id) && mark_starting(tx, &job, own)?)
        })? {
            started.count += usize::from(launch_supervisor::start_supervisor(app, &job, &start, hold)?);
        }
    }
    Ok(started)
}

/// The job that may start now, if any.
pub(super) fn next_eligible(app: &App, tx: &ReadTx<'_>) -> Result<Option<Job>> {
    let host = host::identity();
    if jobs::count_active(tx, &host)? >= i64::try_from(app.settings.jobs.parallel).unwrap_or(i64::MAX) {
        return Ok(None);
    }
    Ok(jobs::next_startable(tx, &host)?)
}

/// Marks a queued job as starting, with the process that starts it.
pub(super) fn mark_starting(tx: &WriteTx<'_>, job: &Job, process: jobs::PidAndStart) -> Result<bool> {
    Ok(jobs::mark_starting(tx, &job.id, &host::identity(), &host::boot_id(), process)?)
}

fn is_queued(app: &App, job: &Job) -> Result<bool> {
    let found = app.read(|tx| Ok(jobs::find(tx, &job.id)?))?;
    Ok(found.is_some_and(|found| found.status == JobStatus::Queued))
}

fn mark_lost(app: &App, job: &Job, why: &str) -> Result<bool> {
    let ending = JobResult::without_exit(JobStatus::Lost, why);
    finish::finish_unsupervised(app, job, &ending)
}
