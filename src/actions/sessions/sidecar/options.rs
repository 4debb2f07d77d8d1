//! The options of a sidecar.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::domain::{SessionId, id::Label, usage::TranscriptSlice};

/// Reads a provider's own record of a session from an offset on. Only the door knows one provider from another.
pub type ReadTranscript = fn(provider: &str, record: &Path, offset: u64) -> io::Result<TranscriptSlice>;

/// What a sidecar is to do.
#[derive(Debug)]
pub struct SidecarOptions {
    /// The session whose companion it is.
    pub session: SessionId,
    /// The provider's own record; `None`: what the session's reports or its row name.
    pub transcript: Option<PathBuf>,
    /// Whose record it is; `None`: the session's provider's.
    pub provider: Option<Label>,
    /// Type also while nobody says what the agent does. Unknown is not idle: it may be in the middle of a question.
    pub when_unknown: bool,
    /// The providers whose records can be read.
    pub providers: &'static [&'static str],
    /// How they are read.
    pub read_transcript: ReadTranscript,
}
