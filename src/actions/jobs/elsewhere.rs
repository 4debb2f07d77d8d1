//! Jobs of another host: their processes and their output are there.

use anyhow::Result;

use crate::{
    actions::{App, core::other_host},
    domain::{job::Job, other_host::OtherHost},
    os::host,
    store::job_output::OutputStore,
    supervisor::JobDir,
};

/// Whether a job is of another host, and nothing of it is here. A container that shares the directory of jobs has it here.
pub fn is_elsewhere(app: &App, job: &Job) -> bool {
    // A store in a file lies beside the output.
    app.settings.store.is_on_server()
        && !host::identity().owns(&job.host, job.host_id.as_deref())
        && !JobDir::of(&app.project.jobs_dir(), &job.id).path().is_dir()
        && !has_output(app, job)
}

/// Whether the output store of this host has output of a job.
fn has_output(app: &App, job: &Job) -> bool {
    let output = OutputStore::open_for_reading(&app.project.output_file()).ok().flatten();
    output.and_then(|output| output.totals(&job.id).ok()).is_some_and(|totals| totals.next_seq > 1)
}

/// Refuses a command that needs the processes or the output of a job of another host. `words`: the command without the job's id.
///
/// # Errors
/// `run_unsupervised`; as the store fails.
pub fn refuse(app: &App, job: &Job, words: &[&str]) -> Result<()> {
    if is_elsewhere(app, job) {
        Err(app.read(|tx| other_host::job_refusal(app, tx, job, words))?.into())
    } else {
        Ok(())
    }
}

/// The host of a job, when it is another one.
pub fn host_of(app: &App, job: &Job) -> Result<Option<OtherHost>> {
    if !is_elsewhere(app, job) {
        return Ok(None);
    }
    app.read(|tx| Ok(other_host::find(tx, &job.host, job.host_id.as_deref())?)).map(Some)
}
