//! Usage read from a provider's transcript.

use std::{io, path::Path};

use crate::domain::usage::Turn;

/// Usage read from a transcript.
#[derive(Debug, Clone, Default)]
pub struct TranscriptUsage {
    /// The model's turns.
    pub turns: Vec<Turn>,
    /// The offset up to which the transcript was read, in bytes.
    pub offset: u64,
    /// Context usage from 0 to 1, if the transcript has it.
    pub context: Option<f64>,
    /// Whether the agent's shell finds `fairway`, if the transcript tells.
    pub finds_program: Option<bool>,
}

/// Reads a transcript from an offset on.
pub type TranscriptReader<'a> = &'a dyn Fn(&Path, u64) -> io::Result<TranscriptUsage>;
