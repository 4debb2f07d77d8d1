//! Waiting for the end of runs.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{
    find,
    job_waiter::{self, JobWaiter},
    queue_waiter, recover,
    supervision::is_supervised,
    view::JobReader,
};
use crate::{
    actions::App,
    config::show_duration,
    domain::{
        Refusal,
        job::{Job, JobStatus},
    },
    wire::JobView,
};

/// Waits until every one of these runs has ended, or nobody looks after it any more; answers them in the order of asking.
/// `progress` is told how they stand, at first and after each change.
///
/// # Errors
/// `nothing_arrived` when the limit is over, `not_found`, `ambiguous`; as the store fails.
pub fn wait(
    app: &App,
    runs: &[String],
    limit: Option<Duration>,
    mut progress: impl FnMut(&[Job]),
) -> Result<Vec<JobView>> {
    let until = limit.map(|limit| Instant::now() + limit);
    let mut found = app.read(|tx| runs.iter().map(|job| find::job(tx, job)).collect::<Result<Vec<Job>>>())?;
    let mut waiting: Vec<Option<JobWaiter>> = Vec::new();
    for job in &found {
        waiting.push(if job.status.is_final() { None } else { Some(JobWaiter::new(app, job)?) });
    }
    if found.iter().any(|job| job.status == JobStatus::Queued) {
        // Whoever waited to begin it may have been killed. When nobody can be started now, others may still begin it.
        let _ = queue_waiter::ensure_running(app);
    }
    loop {
        for one in waiting.iter().flatten() {
            one.drain()?;
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
            let mut looker = JobReader::new();
            return Ok(found.iter().map(|job| looker.view(app, job)).collect());
        }
        if !job_waiter::wait_any(waiting.iter().flatten(), until) {
            return Err(Refusal::WaitTimedOut { within: show_duration(limit.unwrap_or_default()) }.into());
        }
    }
}

/// Settles those whose supervisor has died: whoever waits for them wants to know what becomes of them.
fn recover_unsupervised(app: &App, runs: &mut [Job]) -> Result<()> {
    let mut settled = false;
    for job in runs.iter().filter(|job| !is_supervised(app, job)) {
        settled |= recover::recover_one(app, job)?.is_some();
    }
    if settled { refresh(app, runs) } else { Ok(()) }
}

/// Looks again at those that may have changed.
fn refresh(app: &App, runs: &mut [Job]) -> Result<()> {
    app.read(|tx| {
        for job in runs.iter_mut().filter(|job| !job.status.is_final()) {
            *job = find::job(tx, &job.id.to_string())?;
        }
        Ok(())
    })
}
