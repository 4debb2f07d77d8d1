//! Starts queued jobs in the order of spawning: a job may start when its queue is free and `exec.parallel` is not reached.

use anyhow::{Context as _, Result};

use super::{finish, own_process, queue_waiter};
use crate::App;
use crate::core::last_heard::LastHeard;
use fairway_core::domain::job::{Job, JobStatus};
use fairway_core::os::host;
use fairway_core::render::escape_controls;
use fairway_core::store::{ReadTx, WriteTx, jobs};
use fairway_core::supervisor::JobDir;

/// Starts every queued job of this host that may start now. While jobs stay queued, a queue waiter runs.
pub fn schedule(app: &App) -> Result<()> {
    start_eligible(app)?;
    queue_waiter::ensure_running(app)
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Started {
    pub count: usize,
    /// Whether the next job may start but is locked by another process.
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
                Some(result) => finish::finish_unsupervised(app, &job, &result)?,
                None => mark_lost(app, &job, "its start file is missing; it may have run before")?,
            };
            continue;
        };
        let own = own_process::own_process()?;
        if app.transaction(|tx| {
            Ok(next_eligible(app, tx)?.is_some_and(|next| next.id == job.id) && mark_starting(tx, &job, own)?)
        })? {
            started.count += usize::from(own_process::start_supervisor(app, &job, &start, hold)?);
        }
    }
    Ok(started)
}

/// The next queued job of this host that may start now; `None` when there is none, or when `exec.parallel` jobs are active.
pub(super) fn next_eligible(app: &App, tx: &ReadTx<'_>) -> Result<Option<Job>> {
    let host = host::identity();
    if jobs::count_active(tx, &host)? >= i64::try_from(app.settings.jobs.parallel).unwrap_or(i64::MAX) {
        return Ok(None);
    }
    Ok(jobs::next_startable(tx, &host)?)
}

/// Marks a queued job as starting, with the process that starts it. Returns `false` when it is no longer queued.
pub(super) fn mark_starting(tx: &WriteTx<'_>, job: &Job, process: jobs::PidAndStart) -> Result<bool> {
    Ok(jobs::mark_starting(tx, &job.id, &host::identity(), &host::boot_id(), process)?)
}

fn is_queued(app: &App, job: &Job) -> Result<bool> {
    let found = app.read(|tx| Ok(jobs::find(tx, &job.id)?))?;
    Ok(found.is_some_and(|found| found.status == JobStatus::Queued))
}

fn mark_lost(app: &App, job: &Job, why: &str) -> Result<bool> {
    finish::finish_without_exit(app, job, JobStatus::Lost, why)
}

/// A note for a job whose queue is stuck: the active job of the queue belongs to another host or container, and no process
/// supervises it. Returns `None` when the queue will continue by itself, and for a job without a queue.
pub(super) fn stuck_queue_note(app: &App, queued: &Job) -> Result<Option<String>> {
    let Some(queue) = &queued.queue else { return Ok(None) };
    let local = host::identity();
    let active = app.read(|tx| Ok(jobs::active(tx)?))?;
    let now = app.store_for_reading()?.time(app.env.now())?;
    let is_stuck = |job: &&Job| {
        let is_supervised = || JobDir::of(&app.project.jobs_dir(), &job.id).is_locked().unwrap_or(true);
        job.queue.as_ref() == Some(queue) && !local.owns(&job.host, job.host_id.as_deref()) && !is_supervised()
    };
    let Some(job) = active.iter().find(is_stuck) else { return Ok(None) };
    let is_silent = !app.read(|tx| LastHeard::of_job(tx, job, now))?.is_recent(app);
    let (queue, id) = (escape_controls(queue), job.id.short());
    let forget = format!("; if that host or container is gone: fairway exec rm --force {id}");
    Ok(Some(format!(
        "the queue '{queue}' stands still: job {id} belongs to {}, and no process supervises it; to look: fairway exec list{}",
        escape_controls(&job.host),
        if is_silent { &forget } else { "" }
    )))
}
