//! Output to stdout and stderr. A closed pipe is success: its reader wants no more output.

use std::io::{self, Write};

use serde::Serialize;
use thiserror::Error;

use super::{Meaning, Style, escape_json};

/// A stream that cannot be written to.
#[derive(Debug, Error)]
pub enum OutError {
    /// The reader has closed the pipe, which is no failure.
    #[error("the reader has closed the pipe")]
    Closed,
    /// A full disk, a closed descriptor.
    #[error("cannot write the output: {0}")]
    Io(io::Error),
    /// A document that cannot be written as JSON.
    #[error("cannot write the document: {0}")]
    Json(serde_json::Error),
}

impl From<io::Error> for OutError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::Closed } else { Self::Io(error) }
    }
}

/// The form in which results are shown.
#[derive(Debug, Clone, Copy)]
pub struct Out {
    /// One JSON document instead of words.
    pub json: bool,
    /// Ids only, and no notes.
    pub quiet: bool,
    pub style: Style,
    pub stderr_style: Style,
    /// The width to fit tables into; `None` in a pipe.
    pub width: Option<usize>,
}

impl Out {
    /// Writes text to stdout without escaping anything in it.
    pub fn text(&self, text: &str) -> Result<(), OutError> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes to stdout as they are, for programs that asked for exactly these.
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), OutError> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()?;
        Ok(())
    }

    /// Writes text and a newline to stdout, without escaping anything in it.
    pub fn line(&self, line: &str) -> Result<(), OutError> {
        self.text(&format!("{line}\n"))
    }

    /// Writes one JSON document, on a line of its own, to stdout.
    pub fn document(&self, document: &impl Serialize) -> Result<(), OutError> {
        self.line(&escape_json(serde_json::to_string(document).map_err(OutError::Json)?))
    }

    /// Writes a note to stderr, unless the output is quiet. A failure to write is ignored.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(io::stderr().lock(), "{}", self.stderr_style.paint(Meaning::Faint, text));
        }
    }

    /// Writes text to stderr as it is. A failure to write is ignored.
    pub fn write_stderr(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Shows the progress of a command on one line of the terminal, where it replaces the message before. The last message stays
    /// on that line.
    pub fn progress(&self, text: &str) {
        self.write_stderr(&format!("\r\u{1b}[K{text}"));
    }

    /// Writes an error to stderr, even if the output is quiet. A failure to write is ignored, because it can be reported
    /// nowhere.
    pub fn write_error(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}
