//! Whether a job has a supervisor, and whether its processes and its output are on another host.

use anyhow::Result;

use crate::App;
use crate::core::other_host;
use fairway_core::domain::job::{Job, JobStatus};
use fairway_core::domain::other_host::OtherHost;
use fairway_core::os::host;
use fairway_core::os::process::{ProcessKey, ProcessStatus};
use fairway_core::store::job_output::OutputStore;
use fairway_core::store::jobs;
use fairway_core::supervisor::JobDir;

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

/// Whether a job belongs to another host and neither its directory nor its output is here. Containers may share the directory
/// of jobs.
fn is_elsewhere(app: &App, job: &Job) -> bool {
    // A store in a file lies beside the output.
    app.settings.store.is_on_server()
        && !host::identity().owns(&job.host, job.host_id.as_deref())
        && !JobDir::of(&app.project.jobs_dir(), &job.id).path().is_dir()
        && !has_output(app, job)
}

fn has_output(app: &App, job: &Job) -> bool {
    let output = OutputStore::open_for_reading(&app.project.output_file()).ok().flatten();
    output.and_then(|output| output.totals(&job.id).ok()).is_some_and(|totals| totals.next_seq > 1)
}

/// Refuses a command that needs the processes or the output of a job, when these are on another host. `words` are the
/// arguments of the command without the job's id, for the hint.
///
/// # Errors
/// `run_unsupervised`; errors of the store.
pub fn refuse_elsewhere(app: &App, job: &Job, words: &[&str]) -> Result<()> {
    if is_elsewhere(app, job) {
        Err(app.read(|tx| other_host::job_refusal(app, tx, job, words))?.into())
    } else {
        Ok(())
    }
}

/// The host of a job whose output is on another host; `None` when its output can be read here.
pub fn other_host_of(app: &App, job: &Job) -> Result<Option<OtherHost>> {
    if !is_elsewhere(app, job) {
        return Ok(None);
    }
    app.read(|tx| Ok(other_host::find(tx, &job.host, job.host_id.as_deref())?)).map(Some)
}
