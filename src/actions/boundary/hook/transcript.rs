//! Usage read from a provider's transcript.

use std::{io, path::Path};

use crate::domain::usage::Turn;

/// What was read of a provider's own record.
#[derive(Debug, Clone, Default)]
pub struct TranscriptUsage {
    /// The answers of the model.
    pub turns: Vec<Turn>,
    /// How far it was read, in bytes.
    pub offset: u64,
    /// How full the context is, 0 to 1, where the record says so.
    pub context: Option<f64>,
}

/// Reads a provider's own record from an offset on.
pub type TranscriptReader<'a> = &'a dyn Fn(&Path, u64) -> io::Result<TranscriptUsage>;
