//! Notifies a session, or a person without one, about background jobs.
//!
//! An event that needs a notification is written with the notification's key, in one transaction. [`send_pending`] then
//! inserts the message into the store, unless it has one with that key, and acknowledges the event. After a crash in between,
//! the next call finds the message and only acknowledges: each notification is sent once. A notification that fails (the
//! store was busy) stays pending: the supervisor tries again with its next batch and at the job's end, and recovery calls
//! [`send_all_pending`].

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::json;

use super::notification_format::{self, SOURCE, dedup_key};
use super::output;
use super::output_decoder::Decoder;
use crate::App;
use crate::core::errors;
use crate::mail::send;
use crate::sessions::prompt;
use fairway_core::domain::id::RoutingKey;
use fairway_core::domain::job::{Job, JobId, JobResult, JobStatus};
use fairway_core::domain::job_output::PendingNotification;
use fairway_core::domain::message::{Priority, Recipient};
use fairway_core::domain::{PersonName, ansi};
use fairway_core::store::job_output::OutputStore;
use fairway_core::store::{ReadTx, jobs, messages};
use fairway_core::supervisor::JobDir;

/// Maximum events per call of [`send_all_pending`]; the next call sends the rest.
const BATCH_SIZE: i64 = 10_000;

/// The recipient of a job's notifications: its session, else the person who started it in the background. Returns `None` for a
/// job without either.
pub fn reader(job: &Job) -> Option<Recipient> {
    match &job.session {
        Some(session) => Some(Recipient::from(session)),
        None if job.background => PersonName::of_actor(&job.actor).map(Recipient::Person),
        None => None,
    }
}

/// Whether a notification reports the end of a job: to its session, or to a person whose job has watchers. Never for a
/// foreground job.
pub fn notifies_end(job: &Job, output: &OutputStore) -> bool {
    let has_watchers = || output.watchers(&job.id).is_ok_and(|watchers| !watchers.is_empty());
    job.background && (job.session.is_some() || (reader(job).is_some() && has_watchers()))
}

/// Sends the pending notifications of a job to its reader and acknowledges them. A job without a reader, or with a session that
/// has ended, sends none.
///
/// # Errors
/// Store errors; the notifications then stay pending.
pub fn send_pending(app: &App, output: &OutputStore, job: &Job) -> Result<()> {
    send_for_job(app, output, &job.id, &output.pending_notifications_of(&job.id)?)
}

/// Sends pending notifications of all jobs, for example after a crash. One call sends a limited number of them.
pub fn send_all_pending(app: &App) -> Result<()> {
    // Opening for writing would create the file, so it is checked first.
    let path = app.project.output_file();
    let Some(output) = OutputStore::open_for_reading(&path)? else { return Ok(()) };
    let pending = output.pending_notifications(BATCH_SIZE)?;
    drop(output);
    if pending.is_empty() {
        return Ok(());
    }
    let output = OutputStore::open_for_writing(&path)?;
    let mut by_job: BTreeMap<JobId, Vec<PendingNotification>> = BTreeMap::new();
    for item in pending {
        by_job.entry(item.job.clone()).or_default().push(item);
    }
    by_job.iter().try_for_each(|(id, pending)| send_for_job(app, &output, id, pending))
}

fn send_for_job(app: &App, output: &OutputStore, id: &JobId, pending: &[PendingNotification]) -> Result<()> {
    if pending.is_empty() {
        return Ok(());
    }
    // Read again: the job may have ended since.
    let job = app.read(|tx| Ok(jobs::find(tx, id)?))?;
    let acknowledged: Vec<i64> = match (&job, job.as_ref().and_then(reader)) {
        (Some(job), Some(reader)) => {
            let is_locked = || JobDir::of(&app.project.jobs_dir(), id).is_locked().map_err(errors::internal);
            let is_supervised = job.status.is_active() && is_locked()?;
            let tail = output_tail(app, output, job);
            let write = |tx: &ReadTx<'_>| {
                Ok(notification_format::format_pending(job, pending, is_supervised, &tail, |key| {
                    messages::with_dedup_key(tx, key).map(|known| !known.is_empty())
                })?)
            };
            let formatted = app.read(write)?;
            if formatted.new.is_empty() {
                formatted.acknowledged
            } else {
                app.transaction(|tx| {
                    let notifications = write(tx)?;
                    for notification in notifications.new {
                        let from = (SOURCE, Priority::Normal);
                        send::send_system(
                            tx, &reader, from, notification.content, &notification.metadata, &notification.key,
                        )?;
                    }
                    Ok(notifications.acknowledged)
                })
                // The supervisor must not wait for a terminal.
                .inspect(|_| prompt::start_delivery(app, job.session.as_ref().and_then(RoutingKey::session_id)))?
            }
        }
        _ => pending.iter().map(|item| item.seq).collect(),
    };
    acknowledged.into_iter().try_for_each(|seq| Ok(output.acknowledge_notification(id, seq)?))
}

/// The end of the output without escape sequences, for a job that did not succeed; else empty.
fn output_tail(app: &App, output: &OutputStore, job: &Job) -> String {
    if !job.status.is_final() || job.status == JobStatus::Succeeded {
        return String::new();
    }
    let decoder = Decoder::new(output, &job.id, JobDir::of(&app.project.jobs_dir(), &job.id), true);
    // The end is notified even if the output cannot be read.
    output::snippet(output, &decoder, job).map(|text| ansi::visible_text(&text)).unwrap_or_default()
}

/// The end event of a job: its text, its details as JSON text, and the key of its notification, if it is notified. A foreground
/// job has no notification: its caller waits for the end.
pub fn end_event(job: &Job, result: &JobResult, is_notified: bool) -> (String, String, Option<String>) {
    let how = match (result.exit_code, result.signal) {
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, Some(signal)) => Some(format!("signal {signal}")),
        (None, None) => None,
    };
    let why = match (how, result.error_message.as_deref()) {
        (Some(how), Some(message)) => Some(format!("{message} ({how})")),
        (how, message) => how.or(message.map(str::to_owned)),
    };
    let word = result.status.as_str().replace('_', " ");
    let payload = match why {
        Some(why) if result.status != JobStatus::Succeeded => format!("{word}: {why}"),
        _ => word,
    };
    let meta = json!({
        "event": "end", "status": result.status.as_str(), "exit_code": result.exit_code, "signal": result.signal,
        "attempt": job.attempt,
    });
    let key = is_notified.then(|| dedup_key(&job.id, "end"));
    (payload, meta.to_string(), key)
}
