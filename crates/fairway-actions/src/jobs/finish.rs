//! Records the end of a job.

use anyhow::Result;
use serde_json::{Value, json};

use super::{event, notify};
use crate::App;
use fairway_core::domain::job::{ItemType, Job, JobResult, JobStatus};
use fairway_core::domain::job_output::{Content, Totals};
use fairway_core::domain::{EventKind, secrets};
use fairway_core::store::job_output::OutputStore;
use fairway_core::store::{StoreError, WriteTx, jobs};
use fairway_core::supervisor::JobDir;

/// Records the result of a job, with its event. Returns `false`, without a change, when the job is already final.
pub fn record_finished(
    tx: &WriteTx<'_>,
    job: &Job,
    result: &JobResult,
    output_bytes: i64,
    truncated: bool,
) -> Result<bool> {
    if !jobs::finish(tx, &job.id, result, output_bytes, truncated)? {
        return Ok(false);
    }
    tx.record(
        &event::for_job(EventKind::ExecFinished, job)
            .with("status", result.status.as_str())
            .with("exit_code", result.exit_code)
            .with("signal", result.signal)
            .with("error_message", result.error_message.as_deref().map(secrets::mask)),
    )?;
    Ok(true)
}

/// Records the result of a job without a supervisor; the caller holds the job's lock, or the job never started. Returns `false`
/// when the job is already final.
///
/// # Errors
/// Store errors. Errors of the output store are ignored: the result is recorded without the end event.
pub fn finish_unsupervised(app: &App, job: &Job, result: &JobResult) -> Result<bool> {
    let output = OutputStore::open_for_writing(&app.project.output_file()).ok();
    let totals = output.as_ref().and_then(|output| append_end_event(app, output, job, result).ok());
    let (bytes, truncated) = totals.map_or((job.output_bytes, job.truncated), |totals| {
        (totals.stdout_bytes.saturating_add(totals.stderr_bytes), totals.dropped_bytes > 0)
    });
    let done = app.transaction(|tx| record_finished(tx, job, result, bytes, truncated))?;
    // The start file holds the environment, which may hold secrets: removed as soon as it is not needed.
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let _ = dir.remove_start_spec();
    dir.notify_waiters();
    if let Some(output) = &output {
        // A notification that fails now stays pending.
        let _ = notify::send_pending(app, output, job);
    }
    Ok(done)
}

/// Like [`finish_unsupervised`], for a job without an exit code.
pub(super) fn finish_without_exit(app: &App, job: &Job, status: JobStatus, why: impl Into<String>) -> Result<bool> {
    finish_unsupervised(app, job, &JobResult::without_exit(status, why))
}

/// Appends the end event, unless the supervisor did so before it died.
fn append_end_event(app: &App, output: &OutputStore, job: &Job, result: &JobResult) -> Result<Totals, StoreError> {
    if !has_end_event(output, job)? {
        let (payload, meta, notification_key) = notify::end_event(job, result, notify::notifies_end(job, output));
        output.append_event(&job.id, &payload, &meta, notification_key.as_deref(), app.env.now())?;
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

/// Appends an event that separates the output of this attempt from that of the attempts before.
pub fn append_requeue_marker(app: &App, job: &Job, attempt: i64, why: &str) -> Result<()> {
    let output = OutputStore::open_for_writing(&app.project.output_file())?;
    let meta = json!({ "event": "requeued", "attempt": attempt }).to_string();
    output.append_event(&job.id, why, &meta, None, app.env.now())?;
    Ok(())
}
