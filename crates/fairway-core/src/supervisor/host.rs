//! The process around a job's supervisor: where it opens the job's output, and how supervision fails.

use std::io;

use thiserror::Error;

use super::{OutputRecorder, Sink, SinkError, Watchers};

/// A [`Sink`] that also knows the output which earlier attempts of the job have stored.
pub trait JobHost: Sink {
    /// Opens the recorder, which continues the stored output, and the watchers of the job.
    ///
    /// The supervisor calls this once, when the program was released or could not be started. It must not block.
    fn open_output(&mut self) -> (OutputRecorder, Watchers);
}

/// Why a job was not supervised to its end.
#[derive(Debug, Error)]
pub enum SuperviseError {
    /// The start or the result was not written to the store. Either the program was not started, or the result is in the
    /// job's directory, where recovery finds it.
    #[error("cannot record the job: {0}")]
    Sink(#[from] SinkError),
    /// A system call failed before the program was started.
    #[error("cannot supervise the job: {0}")]
    System(#[from] io::Error),
}
