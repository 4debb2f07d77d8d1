//! The report of reconcile as a document.

use serde::Serialize;

use crate::domain::job::{JobId, JobStatus};
use crate::domain::{RoutingKey, SessionId, TaskId};

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReconcileEntryView {
    /// The session; `None` when a person holds the task.
    pub session_id: Option<String>,
    /// Its task.
    pub task_id: Option<String>,
    /// Why.
    pub reason: String,
}

impl ReconcileEntryView {
    pub fn new(session: Option<&SessionId>, task: Option<&TaskId>, reason: impl Into<String>) -> Self {
        Self {
            session_id: session.map(ToString::to_string),
            task_id: task.map(ToString::to_string),
            reason: reason.into(),
        }
    }
}

/// A background run that was settled: an entry like the others, and which run it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RecoveredJobView {
    /// The session that its messages go to.
    pub session_id: Option<String>,
    /// A run is no task's.
    pub task_id: Option<String>,
    /// Why.
    pub reason: String,
    /// The run.
    pub run_id: String,
    /// Its status now.
    pub status: JobStatus,
}

impl RecoveredJobView {
    pub fn new(run: &JobId, session: Option<&RoutingKey>, status: JobStatus, reason: String) -> Self {
        Self { session_id: session.map(ToString::to_string), task_id: None, reason, run_id: run.to_string(), status }
    }
}

/// The report of `session reconcile`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReconcileView {
    /// Whether nothing was written.
    pub dry_run: bool,
    /// How many sessions that are not final were looked at.
    pub checked: usize,
    /// Marked stale, by this run.
    pub stale: Vec<ReconcileEntryView>,
    /// The entries that cannot be determined; left alone.
    pub unknown: Vec<ReconcileEntryView>,
    /// Other hosts'.
    pub skipped: Vec<ReconcileEntryView>,
    /// The sessions that were starting or stale and run.
    pub revived: Vec<ReconcileEntryView>,
    /// The sessions that were busy and whose screen shows that they are idle.
    pub idle: Vec<ReconcileEntryView>,
    /// Held tasks without a live session, and running sessions whose task is closed.
    pub unattended: Vec<ReconcileEntryView>,
    /// Background runs that were settled.
    pub runs_recovered: Vec<RecoveredJobView>,
    /// Another reconcile was at work; this one did nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub busy: bool,
}
