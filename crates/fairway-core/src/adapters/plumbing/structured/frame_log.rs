//! Every frame of a structured session, in a private file of limited size beside its transcript: a line with the milliseconds
//! since the start, a sign (`>` to the agent, `<` from it, `!` its stderr) and the bytes.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::adapters::plumbing::transcript::Transcript;

/// The size at which the file is started anew, in bytes. The previous file is kept beside it as `.1`.
const MAX_LOG_BYTES: u64 = 16 << 20;

/// The path of the frame log that belongs to a transcript.
fn frame_log_path(transcript: &Path) -> PathBuf {
    let mut path = transcript.as_os_str().to_owned();
    path.push(".frames");
    path.into()
}

/// An open log.
#[derive(Debug)]
pub(super) struct FrameLog {
    file: Transcript,
    started: Instant,
}

impl FrameLog {
    pub(super) fn open(transcript: &Path, started: Instant) -> io::Result<Self> {
        Ok(Self { file: Transcript::open(&frame_log_path(transcript), MAX_LOG_BYTES)?, started })
    }

    pub(super) fn write(&mut self, sign: char, bytes: &[u8]) {
        let head = format!("{} {sign} ", self.started.elapsed().as_millis());
        self.file.write(&[head.as_bytes(), bytes.trim_ascii_end(), b"\n"].concat());
    }
}
