//! The lines of a transcript: reading the complete ones from an offset on, and the values in them.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc::{O_CLOEXEC, O_NONBLOCK};
use serde_json::Value;

use fairway_core::env::Timestamp;

/// How many bytes a line may have; a longer one is skipped.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// Calls `on_line` for each complete line from a byte offset on; from the start, when the file is shorter than that. Returns the
/// offset of the first line, and the one for the next call.
pub(in crate::hooks) fn read_since(path: &Path, offset: u64, on_line: &mut dyn FnMut(&[u8])) -> io::Result<(u64, u64)> {
    let file = open(path)?;
    let from = if file.metadata()?.len() < offset { 0 } else { offset };
    let to = read_between(file, from, None, on_line)?;
    Ok((from, to))
}

/// Calls `on_line` for each complete line before a byte offset.
pub(in crate::hooks) fn read_before(path: &Path, offset: u64, on_line: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    read_between(open(path)?, 0, Some(offset), on_line).map(|_| ())
}

/// Opens a regular file. `O_NONBLOCK`: opening a pipe must not block.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(O_CLOEXEC | O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

fn read_between(mut file: File, from: u64, end: Option<u64>, on_line: &mut dyn FnMut(&[u8])) -> io::Result<u64> {
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let (mut at, mut line) = (from, Vec::new());
    while end.is_none_or(|end| at < end) {
        line.clear();
        let mut length = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? as u64;
        let fits = length < MAX_LINE_BYTES || line.last() == Some(&b'\n');
        if !fits {
            length += reader.skip_until(b'\n')? as u64;
        } else if line.last() != Some(&b'\n') {
            // The last line is still being written.
            break;
        } else {
            on_line(&line);
        }
        at += length;
    }
    Ok(at)
}

/// Parses a line as JSON if it contains `marker`. Returns `None` for a line that is not JSON, and for one without the marker:
/// not parsing those saves most of the time.
pub(in crate::hooks) fn parse_if_contains(line: &[u8], marker: &str) -> Option<Value> {
    let text = std::str::from_utf8(line).ok()?;
    text.contains(marker).then(|| serde_json::from_str(text).ok()).flatten()
}

/// A number of tokens; 0 when it is missing or not a whole number.
pub(in crate::hooks) fn token_count(from: &Value, name: &str) -> u64 {
    from[name].as_u64().unwrap_or(0)
}

pub(in crate::hooks) fn non_empty_text(from: &Value) -> Option<String> {
    from.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

pub(in crate::hooks) fn timestamp(from: &Value) -> Option<Timestamp> {
    from["timestamp"].as_str().and_then(Timestamp::parse)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(path: &Path, offset: u64) -> (Vec<String>, u64) {
        let mut lines = Vec::new();
        let (_, to) =
            read_since(path, offset, &mut |line| lines.push(String::from_utf8_lossy(line).into_owned())).unwrap();
        (lines, to)
    }

    #[test]
    fn line_reader_returns_whole_lines_and_keeps_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record");
        fs::write(&path, "one\ntwo\nthr").unwrap();
        assert_eq!(read(&path, 0), (vec!["one\n".into(), "two\n".into()], 8));
        fs::write(&path, "one\ntwo\nthree\n").unwrap();
        assert_eq!(read(&path, 8), (vec!["three\n".into()], 14));
        assert_eq!(read(&path, 14), (vec![], 14));
        fs::write(&path, "anew\n").unwrap();
        assert_eq!(read(&path, 14), (vec!["anew\n".into()], 5));
    }

    #[test]
    fn transcript_that_is_not_a_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(read_since(&pipe, 0, &mut |_| {}).is_err());
        assert!(read_since(dir.path(), 0, &mut |_| {}).is_err());
    }
}
