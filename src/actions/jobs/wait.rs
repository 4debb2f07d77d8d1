//! Waits for the end of jobs.

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

/// Waits until each of these jobs has ended or has no supervisor; returns them in the given order. `progress` is called with
/// their state at first and after each change.
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
        if !job_waiter::wait_any(waiting.iter().flatten(), until) {
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
