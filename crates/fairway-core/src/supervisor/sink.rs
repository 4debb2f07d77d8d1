//! The interface through which a supervisor reports to the store.

use thiserror::Error;

use crate::domain::job::JobResult;
use crate::domain::job_output::Batch;
use crate::os::process::ProcessKey;

/// Why a report was not stored.
#[derive(Debug, Error)]
pub enum SinkError {
    /// Another process is in charge of the job: this supervisor must neither start nor report anything.
    #[error("the job belongs to another supervisor")]
    NotOwner,
    /// The store refused the write; a later attempt may succeed.
    #[error("{0}")]
    Store(String),
}

/// Receives the reports of a job's supervisor.
pub trait Sink {
    /// Records the root process durably. The process is held until this succeeds.
    ///
    /// # Errors
    /// When it was not written; the process must then not be released.
    fn record_started(&mut self, process: &ProcessKey) -> Result<(), SinkError>;

    /// Writes output and matches in one transaction and wakes the waiters.
    ///
    /// # Errors
    /// When it was not written; the supervisor keeps the batch and retries.
    fn write_batch(&mut self, batch: &Batch) -> Result<(), SinkError>;

    /// Whether there are notifications that were not sent yet.
    fn has_pending_notifications(&self) -> bool {
        false
    }

    /// Tries to send the pending notifications.
    fn flush_notifications(&mut self) {}

    /// Records the result. Called when every process of the job is gone and its output is written.
    ///
    /// # Errors
    /// When it was not written; the supervisor retries.
    fn record_finished(&mut self, ending: &JobResult, output_bytes: i64, truncated: bool) -> Result<(), SinkError>;
}
