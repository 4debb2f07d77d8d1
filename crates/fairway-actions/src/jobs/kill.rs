//! Ends a job.

use std::io;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use nix::sys::signal::Signal;

use super::{find, finish, queue_waiter, recover, scheduler, supervision};
use crate::core::{errors, other_host};
use crate::{Answer, App};
use fairway_core::domain::Refusal;
use fairway_core::domain::job::{Job, JobStatus};
use fairway_core::os::{host, poll_until};
use fairway_core::store::jobs;
use fairway_core::supervisor::JobDir;
use fairway_core::supervisor::control_socket::{self, Request};
use fairway_core::supervisor::state_machine::GRACE;
use fairway_core::wire::JobKillView;

/// Time for a supervisor to answer, beyond the grace period.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum poll interval while a job changes between processes.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Ends a job with its whole process tree and returns when that is recorded. All processes get `signal` (default TERM) and
/// are killed after `grace` (default 2 s). A final job is unchanged.
///
/// # Errors
/// `not_found`, `ambiguous`, `run_unsupervised` for a job of another host, `run_busy` when its supervisor does not answer; store
/// errors.
pub fn kill(app: &App, job: &str, signal: Option<Signal>, grace: Option<Duration>) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let first = app.read(|tx| find::of_actor(app, tx, job))?;
    if !first.status.is_final() {
        supervision::refuse_elsewhere(app, &first, &["exec", "kill"])?;
    }
    let asked = Request::Kill { signal: signal.unwrap_or(Signal::SIGTERM), grace: grace.unwrap_or(GRACE) };
    let limit = grace.unwrap_or(GRACE) + SUPERVISOR_TIMEOUT;
    let since = Instant::now();
    let ended = poll_until::poll_until(limit, POLL_INTERVAL, || {
        try_kill(app, &first, &asked, grace, limit.saturating_sub(since.elapsed())).transpose()
    });
    let ended = ended.unwrap_or_else(|| Err(Refusal::JobUnresponsive { run: first.id.to_string() }.into()))?;
    let answer = answer(&ended, first.status.is_final())?;
    // Stored so that a repeat of the request gets the same answer.
    if app.idempotency_key.is_some() { app.mutate_unattributed(|_| Ok(answer)) } else { Ok(answer) }
}

/// Tries once; `None` while the job changes between processes.
fn try_kill(app: &App, first: &Job, asked: &Request, grace: Option<Duration>, left: Duration) -> Result<Option<Job>> {
    let read = || app.read(|tx| find::job(tx, &first.id.to_string()));
    let job = read()?;
    let final_now = || read().map(|job| Some(job).filter(|job| job.status.is_final()));
    match job.status {
        status if status.is_final() => return Ok(Some(job)),
        JobStatus::Queued => {
            cancel_queued(app, &job)?;
            return final_now();
        }
        _ => {}
    }
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    match control_socket::send_request(&dir, asked, left) {
        Ok(Some(_)) => final_now(),
        // Its pids have a meaning on its own host only.
        Ok(None) if !host::identity().owns(&job.host, job.host_id.as_deref()) => {
            let held = dir.is_locked().unwrap_or(true);
            if held {
                final_now()
            } else {
                Err(app.read(|tx| other_host::job_refusal(app, tx, &job, &["exec", "kill"]))?.into())
            }
        }
        // The supervisor died. A result that it wrote is valid; without one the job is canceled here.
        Ok(None) if dir.read_result().is_some() => {
            recover::recover_one(app, &job)?;
            final_now()
        }
        Ok(None) => {
            if recover::cancel(app, &job, grace, "it was killed on request; its supervisor had died")? {
                scheduler::schedule(app)?;
            }
            final_now()
        }
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(Refusal::JobUnresponsive { run: job.id.to_string() }.into())
        }
        Err(error) => Err(errors::internal(error)),
    }
}

/// Cancels a queued job, unless another process has its lock: that process is starting the job.
fn cancel_queued(app: &App, job: &Job) -> Result<()> {
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let hold = if dir.path().is_dir() { dir.try_lock().context("cannot lock the job's directory")? } else { None };
    if hold.is_none() && dir.path().is_dir() {
        return Ok(());
    }
    let known = app.read(|tx| Ok(jobs::find(tx, &job.id)?))?;
    if let Some(job) = known.filter(|job| job.status == JobStatus::Queued) {
        let why = "it was killed on request, before it started".to_owned();
        finish::finish_without_exit(app, &job, JobStatus::Canceled, why)?;
    }
    drop(hold);
    queue_waiter::wake(app);
    Ok(())
}

fn answer(job: &Job, was_final: bool) -> Result<Answer> {
    let (id, status) = (job.id.to_string(), job.status);
    let finished_at = job.finished_at.map(|at| at.to_string());
    let short = job.id.short();
    let line = if was_final {
        format!("job {short} had already ended: {status}")
    } else {
        format!("ended job {short}: {status}")
    };
    Answer::new(&JobKillView { run_id: id.clone(), status, finished_at }, id, line)
}
