//! Jobs as documents.

use serde::Serialize;
use serde_json::Value;

use super::values::time;
use crate::domain::job::{ItemType, Job, JobStatus, RecoveryPolicy};
use crate::domain::secrets::mask;

/// Shortens a job's id to its last eight digits. Every command on jobs accepts the short form.
pub fn short_job_id(run_id: &str) -> &str {
    run_id.get(run_id.len().saturating_sub(8)..).unwrap_or(run_id)
}

/// A run, in lists.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the document")]
pub struct JobView {
    /// Its id.
    pub run_id: String,
    /// The session that its messages go to.
    pub session_id: Option<String>,
    /// Its queue; null for a job that starts at once.
    pub queue: Option<String>,
    /// How far it came.
    pub status: JobStatus,
    /// `false`: it is active without a supervisor. Otherwise the field is omitted.
    #[serde(skip_serializing_if = "is_true")]
    pub supervised: bool,
    /// The command, with secrets masked.
    pub command: String,
    /// The directory in which it runs.
    pub cwd: String,
    /// Whether the caller went on without waiting.
    pub background: bool,
    /// Whether it has a terminal.
    pub pty: bool,
    /// Its fate when its supervisor dies.
    pub recovery: RecoveryPolicy,
    /// Which start this is, from 1.
    pub attempt: i64,
    /// Its root process, while it runs.
    pub pid: Option<i64>,
    /// Its exit code.
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<i64>,
    /// The size of its output.
    pub output_bytes: i64,
    /// Whether a part of its output was left out.
    pub truncated: bool,
    /// Why it failed, was canceled or lost.
    pub error_message: Option<String>,
    /// When it was asked for.
    pub queued_at: String,
    /// When it started.
    pub started_at: Option<String>,
    /// When it ended.
    pub finished_at: Option<String>,
    /// When its record last changed.
    pub updated_at: String,
}

impl JobView {
    /// The view of a job. `supervised` tells whether it has a supervisor; `output_bytes` and `truncated` describe its output so
    /// far.
    pub fn new(run: &Job, supervised: bool, output_bytes: i64, truncated: bool) -> Self {
        Self {
            run_id: run.id.to_string(),
            session_id: run.session.as_ref().map(ToString::to_string),
            queue: run.queue.clone(),
            status: run.status,
            supervised,
            command: mask(&run.command),
            cwd: run.cwd.clone(),
            background: run.background,
            pty: run.pty.is_some(),
            recovery: run.recovery,
            attempt: run.attempt,
            pid: run.pid.filter(|_| run.status.is_active()),
            exit_code: run.exit_code,
            signal: run.signal,
            output_bytes,
            truncated,
            error_message: run.error_message.as_deref().map(mask),
            queued_at: run.queued_at.to_string(),
            started_at: time(run.started_at),
            finished_at: time(run.finished_at),
            updated_at: run.updated_at.to_string(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_true(supervised: &bool) -> bool {
    *supervised
}

/// An item of a run's output.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobItemView {
    /// Its place, from 1.
    pub seq: i64,
    /// `stdout`, `stderr` or `event`.
    #[serde(rename = "type")]
    pub kind: ItemType,
    /// The text, decoded and masked.
    pub payload: String,
    /// Particulars of an event: an object with at least `event`; `null` for output.
    pub meta: Value,
    /// When it was written.
    pub created_at: String,
}

/// The answer to `spawn`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobSpawnView {
    /// Its id.
    pub run_id: String,
    /// The session that its messages go to.
    pub session_id: Option<String>,
    /// How far it came.
    pub status: JobStatus,
    /// When it was asked for.
    pub queued_at: String,
    /// Whether the caller goes on without waiting.
    pub background: bool,
    /// Whether it has a terminal.
    pub pty: bool,
}

/// The answer to `poll`: the run, and what came after `since_seq`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobPollView {
    /// The run.
    #[serde(flatten)]
    pub run: JobView,
    /// Exclusive.
    pub since_seq: i64,
    /// The `since_seq` of the next poll.
    pub next_seq: i64,
    /// The end of what it has printed, decoded and masked: at most 2,000 characters.
    pub snippet: String,
    /// The items after `since_seq`, in order.
    pub items: Vec<JobItemView>,
    /// The host that has its output, when that is another one. Otherwise the field is omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_host: Option<String>,
    /// The command that prints its output there.
    #[serde(skip)]
    pub log_command: Option<String>,
}

/// The answer to `log`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobLogView {
    /// The run.
    pub run_id: String,
    /// The items after `since_seq`, in order.
    pub items: Vec<JobItemView>,
    /// The `since_seq` of the next poll.
    pub next_seq: i64,
    /// Whether there is more than `limit`.
    pub has_more: bool,
}

/// The answer to `kill`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobKillView {
    /// Its id.
    pub run_id: String,
    /// Its status now.
    pub status: JobStatus,
    /// When it ended.
    pub finished_at: Option<String>,
}

/// The answer to `send_keys`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SendKeysView {
    /// The run.
    pub run_id: String,
    /// Whether everything was taken.
    pub sent: bool,
    /// How many bytes were typed.
    pub bytes: usize,
    /// The newest item before they were typed: `poll --since-seq` with it shows what they caused.
    pub seq_before: i64,
}

/// The answer to a call without an action.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ForegroundView {
    /// Whether it exited with 0 in time.
    pub success: bool,
    /// The output of both streams, decoded and masked.
    pub output: String,
    /// Why it did not succeed.
    pub error: Option<String>,
}

/// The answer to `exec rm`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RemovedJobsView {
    /// The ids of the jobs.
    pub removed: Vec<String>,
}

/// The answer to `exec gc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobGcView {
    /// Whether nothing was removed because of `--dry-run`.
    pub dry_run: bool,
    /// The ids of the jobs that were removed, or would be.
    pub removed: Vec<String>,
    /// The freed bytes; in a dry run the upper limit.
    pub bytes: u64,
}

/// The answer to `exec worker`, at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobWorkerView {
    /// Whether another worker runs, so that this one did nothing.
    pub busy: bool,
    /// The number of jobs that it started.
    pub begun: usize,
    /// The jobs of dead supervisors that it settled.
    pub runs_recovered: Vec<SettledJobView>,
}

/// A job of a dead supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SettledJobView {
    /// Its id.
    pub run_id: String,
    /// Its status now.
    pub status: JobStatus,
    /// Why.
    pub reason: String,
}
