//! A queue that stands still: its running job belongs to another host or container, and no process supervises it.

use anyhow::Result;

use crate::{actions::App, domain::job::Job, os::host, render::escape_controls, store::jobs, supervisor::JobDir};

/// The note for a job that waits behind such a job; `None` while its queue goes on by itself.
pub(super) fn note(app: &App, queued: &Job) -> Result<Option<String>> {
    let Some(queue) = &queued.queue else { return Ok(None) };
    let local = host::identity();
    let active = app.read(|tx| Ok(jobs::active(tx)?))?;
    let is_stuck = |job: &&Job| {
        let is_supervised = || JobDir::of(&app.project.jobs_dir(), &job.id).is_locked().unwrap_or(true);
        job.queue.as_ref() == Some(queue) && !local.owns(&job.host, job.host_id.as_deref()) && !is_supervised()
    };
    Ok(active.iter().find(is_stuck).map(|job| {
        let (queue, id) = (escape_controls(queue), job.id.short());
        format!(
            "the queue '{queue}' stands still: job {id} belongs to {}, and no process supervises it; to look: \
             fairway exec list; if that host or container is gone: fairway exec rm --force {id}",
            escape_controls(&job.host)
        )
    }))
}
