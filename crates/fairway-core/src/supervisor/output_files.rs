//! The segment files of a job's output: `out.N` and `err.N` in the job's directory, readable only by its user. Number 0 is the
//! head. The others are the tail, whose oldest segments are removed first.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use super::JobDir;
use crate::domain::job::ItemType;
use crate::os::files;

/// The name of a segment of a stream.
fn file_name(stream: ItemType, segment: i64) -> String {
    let stream = if stream == ItemType::Stderr { "err" } else { "out" };
    format!("{stream}.{segment}")
}

/// Reads the bytes of a segment from the offset `start` on: `length` of them, or fewer at the end of the file; `None` when the
/// segment was removed.
pub fn read(dir: &JobDir, stream: ItemType, segment: i64, start: u64, length: usize) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(dir.file(&file_name(stream, segment))) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, start.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(Some(bytes))
}

/// Lists the segments of a job's output in order: the number of each, and the size of its files for stdout and stderr together,
/// in bytes.
pub(super) fn list(dir: &JobDir) -> io::Result<Vec<(i64, u64)>> {
    let mut found: Vec<(i64, u64)> = Vec::new();
    for entry in fs::read_dir(dir.path())? {
        let entry = entry?;
        let file_name = entry.file_name();
        let number = file_name.to_str().and_then(|name| name.strip_prefix("out.").or(name.strip_prefix("err.")));
        let Some(number) = number.and_then(|number| number.parse().ok()) else { continue };
        let length = entry.metadata()?.len();
        match found.iter_mut().find(|(known, _)| *known == number) {
            Some((_, bytes)) => *bytes += length,
            None => found.push((number, length)),
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Removes both files of a segment. Errors are ignored, because the files are removed with the job's directory at the latest.
pub(super) fn remove(dir: &JobDir, segment: i64) {
    for stream in [ItemType::Stdout, ItemType::Stderr] {
        let _ = fs::remove_file(dir.file(&file_name(stream, segment)));
    }
}

/// A segment file that is open for appending.
#[derive(Debug)]
pub(super) struct OpenSegment {
    segment: i64,
    file: File,
    length: u64,
}

impl OpenSegment {
    /// Opens a segment file so that writing continues at its end.
    pub(super) fn open(dir: &JobDir, stream: ItemType, segment: i64) -> io::Result<Self> {
        let file = files::private_file(&dir.file(&file_name(stream, segment)))?;
        let length = file.metadata()?.len();
        Ok(Self { segment, file, length })
    }

    pub(super) const fn segment(&self) -> i64 {
        self.segment
    }

    /// Appends bytes to the segment file and returns the offset at which they begin. When they can be written only in part, the
    /// file is cut back, so that none of them remain.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let start = self.length;
        if let Err(error) = self.file.write_all_at(bytes, start) {
            let _ = self.file.set_len(start);
            return Err(error);
        }
        self.length = start.saturating_add(bytes.len() as u64);
        Ok(start)
    }
}
