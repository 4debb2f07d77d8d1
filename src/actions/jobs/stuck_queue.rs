//! A queue that stands still: its running job belongs to another host or container, and no process supervises it.

use anyhow::Result;

use crate::{
    actions::{App, core::last_heard::LastHeard},
    domain::job::Job,
    os::host,
    render::escape_controls,
    store::jobs,
    supervisor::JobDir,
};

/// The note for a job that waits behind such a job; `None` while its queue goes on by itself.
pub(super) fn note(app: &App, queued: &Job) -> Result<Option<String>> {
    let Some(queue) = &queued.queue else { return Ok(None) };
    let local = host::identity();
    let active = app.read(|tx| Ok(jobs::active(tx)?))?;
    let now = app.store_for_reading()?.time(app.env.now())?;
    let is_stuck = |job: &&Job| {
        let is_supervised = || JobDir::of(&app.project.jobs_dir(), &job.id).is_locked().unwrap_or(true);
        job.queue.as_ref() == Some(queue) && !local.owns(&job.host, job.host_id.as_deref()) && !is_supervised()
    };
    let Some(job) = active.iter().find(is_stuck) else { return Ok(None) };
    let is_silent = !app.read(|tx| LastHeard::of_job(tx, job, now))?.is_recent(app);
    let (queue, id) = (escape_controls(queue), job.id.short());
    let forget = format!("; if that host or container is gone: fairway exec rm --force {id}");
    Ok(Some(format!(
        "the queue '{queue}' stands still: job {id} belongs to {}, and no process supervises it; to look: fairway exec list{}",
        escape_controls(&job.host),
        if is_silent { &forget } else { "" }
    )))
}
