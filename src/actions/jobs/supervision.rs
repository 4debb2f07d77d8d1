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

/// Whether somebody looks after a run, or nobody has to. What cannot be told counts as looked after.
#[must_use]
pub fn is_supervised(app: &App, job: &Job) -> bool {
    // Another host's locks cannot be seen from here.
    if !job.status.is_active() || job.host != host::identity() {
        return true;
    }
    if JobDir::of(&app.project.jobs_dir(), &job.id).is_locked().unwrap_or(true) || supervisor_alive(job) {
        return true;
    }
    // It may have ended since its row was read: whoever looks after it writes that first.
    let now = app.read(|tx| Ok(jobs::find(tx, &job.id)?));
    !now.is_ok_and(|now| now.is_some_and(|now| now.status.is_active() && now.attempt == job.attempt))
}

/// Whether the one who is written down as looking after a run lives: also when its lock was deleted, with its directory.
pub(super) fn supervisor_alive(job: &Job) -> bool {
    let keeper = ProcessKey::from_record(job.supervisor_pid, job.supervisor_started, Some(&job.boot_id));
    // Before that it is whoever has taken the run to begin it, and may be busy with something else by now.
    job.status == JobStatus::Running && keeper.is_some_and(|keeper| keeper.status() == ProcessStatus::Alive)
}
