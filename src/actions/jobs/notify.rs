//! Steering: what happened in a background run is told to the session that asked for it.
//!
//! An event that owes a message says so when it is written, in the same transaction. [`deliver`] puts the message into the
//! store, unless there is one of its key already, and marks the event after. Killed in between, the next call finds the
//! message and only marks: each is told once. What could not be told, as when the store was busy, stays owed; a supervisor
//! calls again with its next batch and at its end, and whoever recovers calls [`deliver_all`].

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::json;

use super::{
    notification_format::{self, SOURCE, dedup_key},
    output,
    output_decoder::Decoder,
};
use crate::{
    actions::{App, core::errors, mail::send},
    domain::{
        ansi,
        job::{Job, JobId, JobResult, JobStatus},
        job_output::PendingNotification,
        message::Priority,
    },
    store::{ReadTx, job_output::OutputStore, jobs, messages},
    supervisor::JobDir,
};

/// How many events are told by one call for all runs. A run that has more of them at once is told the rest by the next call.
const BATCH_SIZE: i64 = 10_000;

/// Tells the session of a run what the run owes it, and marks that as told. One that has ended is not told, nor is anybody
/// when nobody asked under a session's name.
///
/// # Errors
/// As the stores fail; what was not told then is owed as before.
pub fn send_pending(app: &App, output: &OutputStore, job: &Job) -> Result<()> {
    send_for_job(app, output, &job.id, &output.pending_notifications_of(&job.id)?)
}

/// The same for everything that is owed: after a crash, when nobody else would do it.
///
/// # Errors
/// As [`deliver`] has them.
pub fn send_all_pending(app: &App) -> Result<()> {
    // Looked at before it is opened for writing, which would make it.
    let path = app.project.output_file();
    let Some(output) = OutputStore::open_for_reading(&path)? else { return Ok(()) };
    let owing = output.pending_notifications(BATCH_SIZE)?;
    drop(output);
    if owing.is_empty() {
        return Ok(());
    }
    let output = OutputStore::open_for_writing(&path)?;
    let mut runs: BTreeMap<JobId, Vec<PendingNotification>> = BTreeMap::new();
    for owed in owing {
        runs.entry(owed.job.clone()).or_default().push(owed);
    }
    runs.iter().try_for_each(|(id, owing)| send_for_job(app, &output, id, owing))
}

fn send_for_job(app: &App, output: &OutputStore, id: &JobId, owing: &[PendingNotification]) -> Result<()> {
    if owing.is_empty() {
        return Ok(());
    }
    // As it stands by now: it may have ended since.
    let job = app.read(|tx| Ok(jobs::find(tx, id)?))?;
    let session = job.as_ref().and_then(|job| job.session.as_ref());
    let paid: Vec<i64> = match (&job, session) {
        (Some(job), Some(session)) => {
            let held = || JobDir::of(&app.project.jobs_dir(), id).is_locked().map_err(errors::internal);
            let goes_on = job.status.is_active() && held()?;
            let tail = output_tail(app, output, job);
            let write = |tx: &ReadTx<'_>| {
                Ok(notification_format::format_pending(job, owing, goes_on, &tail, |key| {
                    messages::has_dedup_key(tx, key)
                })?)
            };
            let seen = app.read(write)?;
            if seen.new.is_empty() {
                seen.acknowledged
            } else {
                app.transaction(|tx| {
                    let letters = write(tx)?;
                    for letter in letters.new {
                        let from = (SOURCE, Priority::Normal);
                        send::send_system(tx, session, from, letter.content, &letter.metadata, &letter.key)?;
                    }
                    Ok(letters.acknowledged)
                })?
            }
        }
        _ => owing.iter().map(|owed| owed.seq).collect(),
    };
    paid.into_iter().try_for_each(|seq| Ok(output.acknowledge_notification(id, seq)?))
}

/// The end of what a run has printed, without what moves and colours, when that may say why it did not succeed.
fn output_tail(app: &App, output: &OutputStore, job: &Job) -> String {
    if !job.status.is_final() || job.status == JobStatus::Succeeded {
        return String::new();
    }
    let decoder = Decoder::new(output, &job.id, JobDir::of(&app.project.jobs_dir(), &job.id), true);
    // The end is told also when what was printed cannot be read.
    output::snippet(output, &decoder, job).map(|text| ansi::visible_text(&text)).unwrap_or_default()
}

/// The event of a run's end: its text, its particulars as JSON text, and the key of the message that it owes. Whoever
/// waited for the end knows it already.
#[must_use]
pub fn end_event(job: &Job, ending: &JobResult) -> (String, String, Option<String>) {
    let how = match (ending.exit_code, ending.signal) {
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, Some(signal)) => Some(format!("signal {signal}")),
        (None, None) => None,
    };
    let why = match (how, ending.error_message.as_deref()) {
        (Some(how), Some(message)) => Some(format!("{message} ({how})")),
        (how, message) => how.or(message.map(str::to_owned)),
    };
    let word = ending.status.as_str().replace('_', " ");
    let payload = match why {
        Some(why) if ending.status != JobStatus::Succeeded => format!("{word}: {why}"),
        _ => word,
    };
    let meta = json!({
        "event": "end", "status": ending.status.as_str(), "exit_code": ending.exit_code, "signal": ending.signal,
        "attempt": job.attempt,
    });
    let owes = (job.background && job.session.is_some()).then(|| dedup_key(&job.id, "end"));
    (payload, meta.to_string(), owes)
}
