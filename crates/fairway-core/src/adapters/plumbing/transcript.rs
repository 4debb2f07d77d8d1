//! A session's transcript: a file of mode 0600 that is restarted at a size limit and never blocks its writer.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use crate::os::files;

/// The size at which a transcript is started anew, in bytes. The previous file is kept beside it as `.1`.
pub const MAX_TRANSCRIPT_BYTES: u64 = 64 << 20;

/// How much of a transcript's end is read for its last lines, in bytes.
const MAX_TAIL_BYTES: u64 = 1 << 20;

/// An open transcript.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    file: Option<File>,
    size: u64,
    limit: u64,
}

impl Transcript {
    /// Opens a transcript for writing at its end and creates its directory. Whenever the file reaches `limit` bytes, it is
    /// renamed with the suffix `.1`, and a new one is begun. Fails when the file is a symbolic link.
    pub fn open(path: &Path, limit: u64) -> io::Result<Self> {
        if let Some(dir) = path.parent().filter(|dir| !dir.exists()) {
            files::private_dir(dir)?;
        }
        let mut this = Self { path: path.into(), file: None, size: 0, limit: limit.max(1) };
        this.reopen()?;
        Ok(this)
    }

    fn reopen(&mut self) -> io::Result<()> {
        let mut file = files::private_file(&self.path)?;
        self.size = file.seek(SeekFrom::End(0))?;
        self.file = Some(file);
        Ok(())
    }

    /// Appends output to the transcript. Output that cannot be written, as on a full disk, is lost without an error, so that the
    /// session does not fail.
    pub fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.size >= self.limit {
                self.rotate();
            }
            let room = usize::try_from(self.limit.saturating_sub(self.size)).unwrap_or(usize::MAX).max(1);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            if let Some(file) = &mut self.file
                && file.write_all(now).is_err()
            {
                return;
            }
            self.size = self.size.saturating_add(u64::try_from(now.len()).unwrap_or(u64::MAX));
            bytes = later;
        }
    }

    fn rotate(&mut self) {
        let moved = fs::rename(&self.path, rotated_path(&self.path)).and_then(|()| self.reopen());
        if moved.is_err() {
            // A file that cannot be renamed is emptied instead, so that the size limit holds.
            let emptied = self.file.as_mut().map(|file| file.set_len(0).and_then(|()| file.rewind()));
            if !matches!(emptied, Some(Ok(()))) {
                self.file = None;
            }
            self.size = 0;
        }
    }
}

/// The last lines of a transcript. At most a fixed amount of its end is read, and with 0 `lines` all of that is returned. When
/// the file was begun only recently, the lines include the end of the previous file. Empty when there is no such file.
pub fn tail(path: &Path, lines: usize) -> io::Result<String> {
    let mut bytes = read_end(path, 0, MAX_TAIL_BYTES)?.1;
    let room = MAX_TAIL_BYTES.saturating_sub(u64::try_from(bytes.len()).unwrap_or(MAX_TAIL_BYTES));
    let counted = bytes.split(|byte| *byte == b'\n').count().saturating_sub(1);
    // One more than asked for: the first one may be the end of a line.
    if room > 0 && (lines == 0 || counted <= lines) {
        let mut all = read_end(&rotated_path(path), 0, room)?.1;
        all.append(&mut bytes);
        bytes = all;
    }
    Ok(last_lines(&bytes, lines))
}

/// At most `max_bytes` from the end of a transcript, and whether earlier output was left out. When the file was begun only
/// recently, they include the end of the previous file.
pub fn end(path: &Path, max_bytes: u64) -> io::Result<(Vec<u8>, bool)> {
    let (start, bytes) = read_end(path, 0, max_bytes)?;
    let room = max_bytes.saturating_sub(u64::try_from(bytes.len()).unwrap_or(max_bytes));
    if start > 0 || room == 0 {
        return Ok((bytes, start > 0));
    }
    let (before, mut all) = read_end(&rotated_path(path), 0, room)?;
    all.extend(bytes);
    Ok((all, before > 0))
}

/// The last lines of what follows the offset `from`, in bytes. When the file is shorter than that, the last lines of the whole
/// file.
pub fn tail_from(path: &Path, lines: usize, from: u64) -> io::Result<String> {
    Ok(last_lines(&read_end(path, from, MAX_TAIL_BYTES)?.1, lines))
}

/// The path of the previous file of a transcript.
fn rotated_path(path: &Path) -> PathBuf {
    let mut before = path.as_os_str().to_owned();
    before.push(".1");
    before.into()
}

/// At most `most` bytes from the end of a file, but none before the offset `from`, and the offset at which these bytes begin.
/// When the file is shorter than `from`, `from` counts as 0. Empty when there is no such file.
pub(super) fn read_end(path: &Path, from: u64, most: u64) -> io::Result<(u64, Vec<u8>)> {
    let opened =
        fs::OpenOptions::new().read(true).custom_flags(OFlag::O_NOFOLLOW.bits() | OFlag::O_NONBLOCK.bits()).open(path);
    let mut file = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((0, Vec::new())),
        opened => opened?,
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other(format!("{} is not a file", path.display())));
    }
    let from = if from <= found.len() { from } else { 0 };
    let start = file.seek(SeekFrom::Start(from.max(found.len().saturating_sub(most))))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok((start, bytes))
}

fn last_lines(bytes: &[u8], lines: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches(['\n', '\r', ' ']);
    if text.is_empty() {
        return String::new();
    }
    let mut kept = VecDeque::new();
    for line in text.lines() {
        if lines > 0 && kept.len() == lines {
            kept.pop_front();
        }
        kept.push_back(line);
    }
    kept.into_iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_anew_at_its_size_and_loses_only_what_is_older() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t");
        let mut transcript = Transcript::open(&path, 10).unwrap();
        transcript.write(b"0123456789abcdefghijKLM");
        assert_eq!(fs::read(&path).unwrap(), b"KLM");
        assert_eq!(fs::read(home.path().join("t.1")).unwrap(), b"abcdefghij");
        drop(transcript);
        Transcript::open(&path, 10).unwrap().write(b"N");
        assert_eq!(fs::read(&path).unwrap(), b"KLMN");
    }

    #[test]
    fn tail_goes_on_into_the_rotated_transcript() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("t");
        let mut transcript = Transcript::open(&path, 8).unwrap();
        transcript.write(b"a\nb\ncd\nef\ng\n");
        assert_eq!((fs::read(&path).unwrap().len(), tail(&path, 1).unwrap().as_str()), (4, "g\n"));
        assert_eq!(tail(&path, 3).unwrap(), "cd\nef\ng\n");
        assert_eq!(tail(&path, 0).unwrap(), "a\nb\ncd\nef\ng\n");
        assert_eq!(tail_from(&path, 0, 2).unwrap(), "g\n");
        assert_eq!(tail_from(&path, 0, 7).unwrap(), "f\ng\n");
    }

    #[test]
    fn planted_link_is_refused_and_the_tail_is_read() {
        let home = tempfile::tempdir().unwrap();
        let (target, link) = (home.path().join("target"), home.path().join("link"));
        fs::write(&target, "a\nb\nc  \n\n").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(Transcript::open(&link, 10).is_err());
        assert!(tail(&link, 1).is_err());
        assert_eq!(tail(&target, 2).unwrap(), "b\nc\n");
        assert_eq!(tail(&target, 0).unwrap(), "a\nb\nc\n");
        assert_eq!(tail(&home.path().join("none"), 0).unwrap(), "");
    }
}
