//! The end of a run, as it is written down.

use anyhow::Result;
use serde_json::{Value, json};

use super::{event, notify};
use crate::{
    actions::App,
    domain::{
        EventKind,
        job::{ItemType, Job, JobResult},
        job_output::{Content, Totals},
        secrets,
    },
    store::{StoreError, WriteTx, job_output::OutputStore, jobs},
    supervisor::JobDir,
};

/// Writes the end of a run, with its event. `false` when it is final already; it then stays as it is.
///
/// # Errors
/// As the store fails.
pub fn record_finished(
    tx: &WriteTx<'_>,
    job: &Job,
    ending: &JobResult,
    output_bytes: i64,
    truncated: bool,
) -> Result<bool> {
    if !jobs::finish(tx, &job.id, ending, output_bytes, truncated)? {
        return Ok(false);
    }
    tx.record(
        &event::for_job(EventKind::ExecFinished, job)
            .with("status", ending.status.as_str())
            .with("exit_code", ending.exit_code)
            .with("signal", ending.signal)
            .with("error_message", ending.error_message.as_deref().map(secrets::mask)),
    )?;
    Ok(true)
}

/// Writes the end of a run that has no supervisor: by whoever has its lock, or before it was begun. `false` when it is
/// final already.
///
/// # Errors
/// As the store fails. What the output's store does not take is left out: the run's end is not.
pub fn finish_unsupervised(app: &App, job: &Job, ending: &JobResult) -> Result<bool> {
    let output = OutputStore::open_for_writing(&app.project.output_file()).ok();
    let totals = output.as_ref().and_then(|output| append_end_event(app, output, job, ending).ok());
    let (bytes, truncated) = totals.map_or((job.output_bytes, job.truncated), |totals| {
        (totals.stdout_bytes.saturating_add(totals.stderr_bytes), totals.dropped_bytes > 0)
    });
    let done = app.transaction(|tx| record_finished(tx, job, ending, bytes, truncated))?;
    // What it was started with holds its environment: gone as soon as nobody needs it.
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let _ = dir.remove_start_spec();
    dir.notify_waiters();
    if let Some(output) = &output {
        // What could not be told now stays owed.
        let _ = notify::send_pending(app, output, job);
    }
    Ok(done)
}

/// Adds the item of a run's end, unless its supervisor has done so before it died.
fn append_end_event(app: &App, output: &OutputStore, job: &Job, ending: &JobResult) -> Result<Totals, StoreError> {
    if !has_end_event(output, job)? {
        let (payload, meta, owes) = notify::end_event(job, ending);
        output.append_event(&job.id, &payload, &meta, owes.as_deref(), app.env.now())?;
    }
    output.totals(&job.id)
}

fn has_end_event(output: &OutputStore, job: &Job) -> Result<bool, StoreError> {
    let Some(newest) = output.newest_after(&job.id, 0, true)? else { return Ok(false) };
    let (found, _) = output.items(&job.id, newest - 1, 1, Some(ItemType::Event))?;
    Ok(found.iter().any(|item| match &item.content {
        Content::Event { meta, .. } => {
            let meta: Value = serde_json::from_str(meta).unwrap_or_default();
            meta.get("event").and_then(Value::as_str) == Some("end")
                && meta.get("attempt").and_then(Value::as_i64) == Some(job.attempt)
        }
        Content::Output { .. } => false,
    }))
}

/// Marks where a run that is begun once more begins: between what it printed before and what it will print.
///
/// # Errors
/// As the output's store fails.
pub fn append_requeue_marker(app: &App, job: &Job, attempt: i64, why: &str) -> Result<()> {
    let output = OutputStore::open_for_writing(&app.project.output_file())?;
    let meta = json!({ "event": "requeued", "attempt": attempt }).to_string();
    output.append_event(&job.id, why, &meta, None, app.env.now())?;
    Ok(())
}
