//! What runs next: the first in the order of asking whose queue is free, as long as there is room.

use anyhow::{Context as _, Result};

use super::{finish, launch_supervisor, own_process, queue_waiter};
use crate::{
    actions::App,
    domain::job::{Job, JobResult, JobStatus},
    os::host,
    store::{ReadTx, WriteTx, jobs},
    supervisor::JobDir,
};

/// Begins every queued run of this host that may begin now. While some are left, there is a process that waits to begin
/// them.
///
/// # Errors
/// As the store fails, or a run's directory.
pub fn schedule(app: &App) -> Result<()> {
    start_eligible(app)?;
    queue_waiter::ensure_running(app)
}

/// What was begun.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Started {
    /// How many runs.
    pub count: usize,
    /// Another one may begin, and somebody else has its lock.
    pub is_blocked: bool,
}

/// The same without a look at who waits.
pub(super) fn start_eligible(app: &App) -> Result<Started> {
    let mut begun = Started::default();
    while let Some(job) = app.read(|tx| next_eligible(app, tx))? {
        let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
        if !dir.path().is_dir() {
            if is_queued(app, &job)? {
                mark_lost(app, &job, "its directory is gone")?;
            }
            continue;
        }
        // The lock first: who has it decides what becomes of the run. Who drops it looks again, or makes others look.
        let hold = dir.try_lock().with_context(|| format!("cannot lock {}", dir.path().display()))?;
        let Some(hold) = hold else {
            begun.is_blocked = true;
            break;
        };
        // What was read before the lock may be the past.
        if !is_queued(app, &job)? {
            continue;
        }
        let start = match dir.start_spec() {
            Ok(start) => start,
            Err(error) => {
                mark_lost(app, &job, &format!("what it is to be started with cannot be read: {error}"))?;
                continue;
            }
        };
        let Some(start) = start.filter(|_| !dir.has_started()) else {
            // A store that was put back may know of runs that have been run since.
            match dir.read_result() {
                Some(ending) => finish::finish_unsupervised(app, &job, &ending)?,
                None => mark_lost(app, &job, "what it is to be started with is gone: it may have run before")?,
            };
            continue;
        };
        let own = own_process::own_process()?;
        if app.transaction(|tx| {
            Ok(next_eligible(app, tx)?.is_some_and(|next| next.id == job.id) && mark_starting(tx, &job, own)?)
        })? {
            begun.count += usize::from(launch_supervisor::start_supervisor(app, &job, &start, hold)?);
        }
    }
    Ok(begun)
}

/// The run that may begin now, if there is one.
pub(super) fn next_eligible(app: &App, tx: &ReadTx<'_>) -> Result<Option<Job>> {
    let host = host::identity();
    if jobs::count_active(tx, &host)? >= app.settings.jobs.max_parallel {
        return Ok(None);
    }
    Ok(jobs::next_startable(tx, &host)?)
}

/// Takes a queued run to begin it.
pub(super) fn mark_starting(tx: &WriteTx<'_>, job: &Job, keeper: jobs::PidAndStart) -> Result<bool> {
    Ok(jobs::mark_starting(tx, &job.id, &host::identity(), &host::boot_id(), keeper)?)
}

fn is_queued(app: &App, job: &Job) -> Result<bool> {
    let found = app.read(|tx| Ok(jobs::find(tx, &job.id)?))?;
    Ok(found.is_some_and(|found| found.status == JobStatus::Queued))
}

fn mark_lost(app: &App, job: &Job, why: &str) -> Result<bool> {
    let ending = JobResult::without_exit(JobStatus::Lost, why);
    finish::finish_unsupervised(app, job, &ending)
}
