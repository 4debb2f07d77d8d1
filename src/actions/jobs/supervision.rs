//! Whether a job has a supervisor.

use crate::{
    actions::App,
    domain::job::{Job, JobStatus},
    os::{
        host,
        process::{ProcessKey, ProcessStatus},
    },
    store::jobs,
    supervisor::JobDir,
};

/// Whether a job has a supervisor or needs none. Counts as supervised if this cannot be determined.
pub fn is_supervised(app: &App, job: &Job) -> bool {
    // Locks of another host are not visible here.
    if !job.status.is_active() || !host::identity().owns(&job.host, job.host_id.as_deref()) {
        return true;
    }
    if JobDir::of(&app.project.jobs_dir(), &job.id).is_locked().unwrap_or(true) || supervisor_alive(job) {
        return true;
    }
    // It may have ended since its row was read: a supervisor records the result before it releases the lock.
    let now = app.read(|tx| Ok(jobs::find(tx, &job.id)?));
    !now.is_ok_and(|now| now.is_some_and(|now| now.status.is_active() && now.attempt == job.attempt))
}

/// Whether the recorded supervisor of a running job is alive. Works also if the job's directory, and the lock with it, was
/// deleted.
pub(super) fn supervisor_alive(job: &Job) -> bool {
    let supervisor = ProcessKey::from_record(job.supervisor_pid, job.supervisor_started, Some(&job.boot_id));
    // Of a starting job the recorded process is the one that claimed it, which may be busy with other work.
    job.status == JobStatus::Running && supervisor.is_some_and(|supervisor| supervisor.status() == ProcessStatus::Alive)
}
