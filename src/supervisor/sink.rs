//! What a supervisor tells, and to whom.

use thiserror::Error;

use crate::{
    domain::{job::JobResult, job_output::Batch},
    os::process::ProcessKey,
};

/// Why something could not be written down.
#[derive(Debug, Error)]
pub enum SinkError {
    /// The run is not this supervisor's any more: nothing may be begun or said about it.
    #[error("the run belongs to somebody else by now")]
    NotOwner,
    /// The store did not take it.
    #[error("{0}")]
    Store(String),
}

/// Hears what happens to a run.
pub trait Sink {
    /// The root process is there and waits: writes it down for good. It does its first step only after this.
    ///
    /// # Errors
    /// When it was not written; the process must then never begin.
    fn record_started(&mut self, process: &ProcessKey) -> Result<(), SinkError>;

    /// Writes what was printed and noticed, in one transaction, and wakes those who wait for it.
    ///
    /// # Errors
    /// When it was not written; the supervisor goes on and keeps the batch for another try.
    fn write_batch(&mut self, batch: &Batch) -> Result<(), SinkError>;

    /// Whether something is owed to others that could not be handed over yet.
    fn has_pending_notifications(&self) -> bool {
        false
    }

    /// Tries again to hand it over.
    fn flush_notifications(&mut self) {}

    /// The run is over, everything of it is gone and written: writes the end.
    ///
    /// # Errors
    /// When it was not written; the supervisor tries again.
    fn record_finished(&mut self, ending: &JobResult, output_bytes: i64, truncated: bool) -> Result<(), SinkError>;
}
