//! Starts the supervisor of a job.

use anyhow::Result;

use super::{finish, own_process};
use crate::{
    actions::App,
    domain::job::{Job, JobResult, JobStatus},
    os::lock::InheritableLock,
    supervisor::{JobDir, job_dir::StartSpec},
};

/// Starts the supervisor of a job that this process marked as starting, and passes the job's lock to it. If the supervisor
/// cannot be started, the job fails with the reason, and the result is `false`.
pub(super) fn start_supervisor(app: &App, job: &Job, start: &StartSpec, hold: InheritableLock) -> Result<bool> {
    let args = own_process::argv(app, &["exec", "supervise", &job.id.to_string()]);
    let marked = |name: &str| start.env.iter().find(|(have, _)| have == name).map(|(_, value)| value.clone());
    // Waiters must follow the supervisor from now on.
    JobDir::of(&app.project.jobs_dir(), &job.id).notify_waiters();
    let file = hold.into_file();
    // If the start fails, this copy keeps the lock until the failure is recorded.
    let _kept = file.try_clone();
    let Err(error) = own_process::launch_detached(app, &args, marked, Some(file)) else { return Ok(true) };
    let why = format!("cannot start its supervisor: {error}");
    let ending = JobResult::without_exit(JobStatus::Failed, why);
    finish::finish_unsupervised(app, job, &ending)?;
    Ok(false)
}
