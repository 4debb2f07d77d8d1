//! The options of a sidecar.

use std::io;
use std::path::{Path, PathBuf};

use fairway_core::domain::SessionId;
use fairway_core::domain::id::Label;
use fairway_core::domain::usage::TranscriptSlice;

/// Reads a provider's transcript from an offset on. The entry point passes it in, because only that knows the providers.
pub type ReadTranscript = fn(provider: &str, record: &Path, offset: u64) -> io::Result<TranscriptSlice>;

#[derive(Debug)]
pub struct SidecarOptions {
    pub session: SessionId,
    /// The provider's transcript; `None` means the path that the session has reported or recorded.
    pub transcript: Option<PathBuf>,
    /// The transcript's provider; `None` means that of the session.
    pub provider: Option<Label>,
    /// Whether to type while the activity is unknown. Unknown is not idle: the agent may be asking a question.
    pub when_unknown: bool,
    /// The providers whose transcripts can be read.
    pub providers: Vec<&'static str>,
    pub read_transcript: ReadTranscript,
}
