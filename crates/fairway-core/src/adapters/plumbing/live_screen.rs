//! The screen of a running session, kept up to date from its transcript without reading anything twice.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::screen_cells::{self, Row};
use super::screen_replay::{parser, shown_lines};
use super::transcript;
use super::transcript_screen::{PrintedBy, assumed_size, begin_lines};
use crate::os::terminal::Size;

/// How much of a transcript's end is read to compute the screen, in bytes.
const MAX_BYTES: u64 = 512 << 10;

/// A terminal emulator that gets everything that is written to a transcript.
pub struct LiveScreen {
    path: PathBuf,
    printed_by: PrintedBy,
    parser: vt100::Parser,
    size: Size,
    /// The file and the number of its bytes that were printed; `None` before the first look.
    read: Option<(u64, u64)>,
}

impl LiveScreen {
    /// A terminal that will show the output in the transcript at `path`. Nothing is read before the first
    /// [`refresh`](Self::refresh).
    pub fn new(path: PathBuf, printed_by: PrintedBy) -> Self {
        let size = assumed_size(b"");
        Self { path, printed_by, parser: parser(size), size, read: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the output that was added to the transcript since the last call. Returns whether the transcript has changed.
    ///
    /// # Errors
    /// When the transcript cannot be read. A missing transcript is no error.
    pub fn refresh(&mut self) -> io::Result<bool> {
        let found = match fs::symlink_metadata(&self.path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match self.read {
            Some((file, read)) if file == found.ino() && read == found.len() => Ok(false),
            Some((file, read)) if file == found.ino() && read < found.len() && found.len() - read <= MAX_BYTES => {
                let (start, bytes) = transcript::read_end(&self.path, read, MAX_BYTES)?;
                // A terminal that has grown shows everything anew.
                let size = assumed_size(&bytes);
                if start != read || size.rows > self.size.rows || size.cols > self.size.cols {
                    return self.replay(found.ino()).map(|()| true);
                }
                self.print(&bytes);
                self.read = Some((file, read + length(&bytes)));
                Ok(true)
            }
            _ => self.replay(found.ino()).map(|()| true),
        }
    }

    fn replay(&mut self, file: u64) -> io::Result<()> {
        let (start, bytes) = transcript::read_end(&self.path, 0, MAX_BYTES)?;
        // After a cut, the first line or sequence may be incomplete.
        let whole =
            bytes.iter().position(|byte| matches!(byte, b'\n' | 0x1b)).filter(|_| start > 0).unwrap_or_default();
        let size = assumed_size(&bytes);
        self.size = Size { rows: size.rows.max(self.size.rows), cols: size.cols.max(self.size.cols) };
        self.parser = parser(self.size);
        self.print(bytes.get(whole..).unwrap_or_default());
        self.read = Some((file, start + length(&bytes)));
        Ok(())
    }

    fn print(&mut self, bytes: &[u8]) {
        match self.printed_by {
            PrintedBy::Pipe => self.parser.process(&begin_lines(bytes)),
            PrintedBy::Terminal | PrintedBy::Unknown => self.parser.process(bytes),
        }
    }

    /// The last lines of the scrollback and the screen; all of them when `lines` is 0.
    pub fn lines(&mut self, lines: usize) -> String {
        shown_lines(&mut self.parser, self.size, lines)
    }

    /// The rows of the visible screen.
    pub fn rows(&mut self) -> Vec<Row> {
        self.parser.screen_mut().set_scrollback(0);
        screen_cells::rows_of(self.parser.screen())
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn screen_follows_what_is_printed_and_begins_again_with_the_transcript() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("transcript");
        let mut screen = LiveScreen::new(path.clone(), PrintedBy::Terminal);
        assert!(!screen.refresh().unwrap());
        let append = |text: &str| {
            fs::OpenOptions::new().append(true).create(true).open(&path).unwrap().write_all(text.as_bytes())
        };
        append("one\r\ntw").unwrap();
        assert!(screen.refresh().unwrap());
        assert_eq!(screen.lines(9), "one\ntw\n");
        // A sequence may come in two parts.
        append("o\r\n\x1b[3").unwrap();
        assert!(screen.refresh().unwrap());
        append("1mred\x1b[0m").unwrap();
        assert!(screen.refresh().unwrap());
        assert_eq!(screen.lines(9), "one\ntwo\nred\n");
        assert_eq!(screen.lines(1), "red\n");
        assert!(!screen.refresh().unwrap());
        // A terminal that has grown, and a transcript that was started anew.
        append("\x1b[120;1Hbelow").unwrap();
        screen.refresh().unwrap();
        assert_eq!(screen.lines(0).lines().count(), 120);
        fs::rename(&path, dir.path().join("transcript.1")).unwrap();
        append("fresh").unwrap();
        assert!(screen.refresh().unwrap());
        assert_eq!(screen.lines(9), "fresh\n");
        // Only the end of a large transcript is read.
        append(&"x\r\n".repeat(400_000)).unwrap();
        append("the end").unwrap();
        assert!(screen.refresh().unwrap());
        assert_eq!(screen.lines(2), "x\nthe end\n");
    }
}
