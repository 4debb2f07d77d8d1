//! Giving a run that was taken to a supervisor of its own.

use anyhow::Result;

use super::{finish, own_process};
use crate::{
    actions::App,
    domain::job::{Job, JobResult, JobStatus},
    os::lock::InheritableLock,
    supervisor::{JobDir, job_dir::StartSpec},
};

/// Starts the supervisor of a run that this process has taken, and hands the run's lock on to it. When it cannot be started
/// the run has failed, and says why.
///
/// # Errors
/// As the store fails.
pub(super) fn start_supervisor(app: &App, job: &Job, start: &StartSpec, hold: InheritableLock) -> Result<bool> {
    let words = own_process::argv(app, &["exec", "supervise", &job.id.to_string()]);
    let marked = |name: &str| start.env.iter().find(|(have, _)| have == name).map(|(_, value)| value.clone());
    // Who waited for its turn wants to know who looks after it from now on.
    JobDir::of(&app.project.jobs_dir(), &job.id).notify_waiters();
    let file = hold.into_file();
    // The lock stays with us until the end is written, should nobody be there to have it.
    let _kept = file.try_clone();
    let Err(error) = own_process::launch_detached(app, &words, marked, Some(file)) else { return Ok(true) };
    let why = format!("its supervisor could not be started: {error}");
    let ending = JobResult::without_exit(JobStatus::Failed, why);
    finish::finish_unsupervised(app, job, &ending)?;
    Ok(false)
}
