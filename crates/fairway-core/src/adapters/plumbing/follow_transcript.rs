//! Following a session's output until it ends or the reader closes its stream, and asking whether a session is followed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

use super::SessionDir;
use crate::os::file_watch::FileWatch;
use crate::os::lock::SharedLock;
use crate::os::process;

/// Locked, shared, by every process that follows the session.
const FOLLOW_LOCK: &str = "followed";
/// How much of the earlier output is shown first, in bytes.
const INITIAL_BYTES: u64 = 16 * 1024;

/// The state of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderState {
    /// It wants more.
    Open,
    /// It has gone away.
    Closed,
}

impl SessionDir {
    /// Passes the end of a session's earlier output, and then all new output as it arrives, to `see`. Returns when the session
    /// has ended, `see` returns [`ReaderState::Closed`], or the reader closes `stream`.
    ///
    /// # Errors
    /// When there is no live session, or its transcript cannot be read.
    pub fn follow(&self, stream: BorrowedFd<'_>, mut see: impl FnMut(&[u8]) -> ReaderState) -> io::Result<()> {
        let root = self.root().filter(|_| self.is_alive().unwrap_or(false));
        let root = root.and_then(|root| process::pidfd(root.pid).ok().flatten());
        let Some(root) = root else { return Err(self.not_found()) };
        let _following = SharedLock::acquire(&self.file(FOLLOW_LOCK))?;
        let path = self.transcript_path()?;
        let mut watch = FileWatch::new();
        if let Some(dir) = path.parent() {
            watch.watch_dir(dir);
        }
        let mut reading = TranscriptCursor::default();
        loop {
            // Checked before the output is read, so that nothing before the end is missed.
            let is_over = !self.is_alive().unwrap_or(false);
            if reading.forward_new(&path, &mut watch, &mut see)? == ReaderState::Closed || is_over {
                return Ok(());
            }
            watch.wait(None, &[root.as_fd()], Some(stream));
            // Without further output, no failed write would show that the reader has gone.
            if is_hung_up(stream) {
                return Ok(());
            }
        }
    }

    /// Whether the session is alive and a process, in a call of [`follow`](Self::follow), reads its output.
    pub fn is_followed(&self) -> io::Result<bool> {
        Ok(self.is_alive()? && SharedLock::is_locked(&self.file(FOLLOW_LOCK))?)
    }
}

fn is_hung_up(stream: BorrowedFd<'_>) -> bool {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let mut ready = [PollFd::new(stream, PollFlags::empty())];
    poll(&mut ready, PollTimeout::ZERO).is_ok_and(|count| count > 0)
}

/// How far a transcript was read.
#[derive(Debug, Default)]
struct TranscriptCursor {
    file: Option<(File, u64)>,
}

impl TranscriptCursor {
    /// Passes on the new output, also after the transcript was started anew.
    fn forward_new(
        &mut self,
        path: &Path,
        watch: &mut FileWatch,
        see: &mut impl FnMut(&[u8]) -> ReaderState,
    ) -> io::Result<ReaderState> {
        let is_first = self.file.is_none();
        loop {
            if let Some((file, _)) = &mut self.file
                && forward_rest(file, see)? == ReaderState::Closed
            {
                return Ok(ReaderState::Closed);
            }
            let now = match fs::symlink_metadata(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReaderState::Open),
                now => now?.ino(),
            };
            if self.file.as_ref().is_some_and(|(_, read)| *read == now) {
                return Ok(ReaderState::Open);
            }
            let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
            let mut file = fs::OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
            let found = file.metadata()?;
            if !found.is_file() {
                return Err(io::Error::other(format!("{} is not a file", path.display())));
            }
            watch.watch_file(path);
            if is_first && found.len() > INITIAL_BYTES {
                file.seek(SeekFrom::Start(found.len() - INITIAL_BYTES))?;
                skip_partial_line(&mut file)?;
            }
            self.file = Some((file, found.ino()));
        }
    }
}

/// Passes on the rest of a file. A file that has become shorter is read from its beginning.
fn forward_rest(file: &mut File, see: &mut impl FnMut(&[u8]) -> ReaderState) -> io::Result<ReaderState> {
    if file.stream_position()? > file.metadata()?.len() {
        file.rewind()?;
    }
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(ReaderState::Open);
        }
        if see(buffer.get(..read).unwrap_or_default()) == ReaderState::Closed {
            return Ok(ReaderState::Closed);
        }
    }
}

/// Skips the rest of a line that may be incomplete.
fn skip_partial_line(file: &mut File) -> io::Result<()> {
    let from = file.stream_position()?;
    let mut buffer = vec![0; 4 * 1024];
    let read = file.read(&mut buffer)?;
    let line = buffer.get(..read).and_then(|seen| seen.iter().position(|byte| *byte == b'\n'));
    let skipped = line.and_then(|at| u64::try_from(at + 1).ok()).unwrap_or_default();
    file.seek(SeekFrom::Start(from + skipped))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::plumbing::transcript::Transcript;

    #[test]
    fn follower_misses_no_byte_when_a_transcript_starts_anew() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t");
        let (mut watch, mut reading, mut seen) = (FileWatch::new(), TranscriptCursor::default(), Vec::new());
        let mut transcript = Transcript::open(&path, 10).unwrap();
        for text in ["0123", "45678", "9abcd", "e", ""] {
            transcript.write(text.as_bytes());
            let mut see = |bytes: &[u8]| {
                seen.extend_from_slice(bytes);
                ReaderState::Open
            };
            assert_eq!(reading.forward_new(&path, &mut watch, &mut see).unwrap(), ReaderState::Open);
        }
        assert_eq!(seen, b"0123456789abcde");
        transcript.write(b"f");
        assert_eq!(reading.forward_new(&path, &mut watch, &mut |_| ReaderState::Closed).unwrap(), ReaderState::Closed);
    }

    #[test]
    fn of_a_long_past_only_the_last_lines_are_shown() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t");
        fs::write(&path, "0123456789\n".repeat(5_000)).unwrap();
        let mut seen = Vec::new();
        let mut see = |bytes: &[u8]| {
            seen.extend_from_slice(bytes);
            ReaderState::Open
        };
        TranscriptCursor::default().forward_new(&path, &mut FileWatch::new(), &mut see).unwrap();
        assert!(seen.starts_with(b"0123456789\n") && seen.len() <= 16 * 1024 && seen.len() > 15 * 1024);
    }
}
