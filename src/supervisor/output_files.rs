//! The files that a run's bytes lie in: `out.N` and `err.N` in its directory, for its user alone. Number 0 is the head; the
//! others are the tail, of which the oldest go first.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
};

use super::JobDir;
use crate::{domain::job::ItemType, os::files};

/// The name of a segment of a stream.
fn file_name(stream: ItemType, segment: i64) -> String {
    let stream = if stream == ItemType::Stderr { "err" } else { "out" };
    format!("{stream}.{segment}")
}

/// The bytes of a segment from `start` on, at most `length`; `None` when they are gone.
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

/// The segments that are there: each number with the bytes of both streams, in order.
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

/// Removes both files of a segment. A file that cannot be removed now goes with the directory.
pub(super) fn remove(dir: &JobDir, segment: i64) {
    for stream in [ItemType::Stdout, ItemType::Stderr] {
        let _ = fs::remove_file(dir.file(&file_name(stream, segment)));
    }
}

/// The end of a segment file that is being written.
#[derive(Debug)]
pub(super) struct OpenSegment {
    segment: i64,
    file: File,
    length: u64,
}

impl OpenSegment {
    /// Opens a segment of a stream at its end.
    pub(super) fn open(dir: &JobDir, stream: ItemType, segment: i64) -> io::Result<Self> {
        let file = files::private_file(&dir.file(&file_name(stream, segment)))?;
        let length = file.metadata()?.len();
        Ok(Self { segment, file, length })
    }

    /// Which segment it is.
    pub(super) const fn segment(&self) -> i64 {
        self.segment
    }

    /// Adds bytes; answers where they begin. When they do not all fit, none of them stays.
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
