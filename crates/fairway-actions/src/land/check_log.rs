//! The command that a landing runs now, with the end of its output: in a file beside the worktree of the check, so that other
//! processes can show it.

use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::App;
use fairway_core::domain::ansi;
use fairway_core::domain::secrets::mask;
use fairway_core::env::{Clock, Timestamp};
use fairway_core::os::files;
use fairway_core::wire::LandRunningView;

/// The most output that is kept for the eye, in bytes. Evidence has the whole output.
const MAX_BYTES: u64 = 64 << 10;
/// The most lines of it that are shown.
const MAX_LINES: usize = 10;
const EXTENSION: &str = "log";

/// The first line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    what: String,
    since: i64,
}

/// The file of a running command. It is removed when this is dropped.
#[derive(Debug)]
pub(super) struct CheckLog {
    path: PathBuf,
    file: File,
    head: u64,
    written: u64,
}

impl CheckLog {
    /// Begins the log of a command in the worktree `dir`. `None` when it cannot be written: a landing does without.
    pub(super) fn begin(dir: &Path, what: &str) -> Option<Self> {
        let path = dir.with_extension(EXTENSION);
        let head = Head { what: what.to_owned(), since: Clock::System.now().millis() };
        let mut line = serde_json::to_vec(&head).ok()?;
        line.push(b'\n');
        let _ = fs::remove_file(&path);
        let mut file = files::private_file(&path).ok()?;
        file.write_all(&line).ok()?;
        Some(Self { path, file, head: u64::try_from(line.len()).ok()?, written: 0 })
    }

    /// Adds output. Of much output the newest is kept.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let newest = bytes.get(bytes.len().saturating_sub(1 << 15)..).unwrap_or_default();
        // A file that is not complete is still shown.
        let _ = self.append(newest);
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.written > MAX_BYTES {
            self.file.set_len(self.head)?;
            self.file.seek(SeekFrom::Start(self.head))?;
            self.written = 0;
        }
        self.written += u64::try_from(bytes.len()).unwrap_or_default();
        self.file.write_all(bytes)
    }
}

impl Drop for CheckLog {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the logs that killed landings left. The caller holds the lock of landing.
pub(super) fn clear(app: &App) {
    for path in logs(app) {
        let _ = fs::remove_file(path);
    }
}

/// The commands that a landing of this host runs now.
pub(super) fn running(app: &App) -> Vec<LandRunningView> {
    let mut found: Vec<LandRunningView> = logs(app).iter().filter_map(|path| read(path)).collect();
    found.sort_by(|one, other| one.since.cmp(&other.since).then_with(|| one.what.cmp(&other.what)));
    found
}

fn logs(app: &App) -> Vec<PathBuf> {
    let entries = fs::read_dir(app.project.land_dir()).into_iter().flatten().flatten();
    let is_log = |path: &PathBuf| path.extension().is_some_and(|extension| extension == EXTENSION);
    entries.map(|entry| entry.path()).filter(is_log).collect()
}

fn read(path: &Path) -> Option<LandRunningView> {
    let whole = fs::read(path).ok()?;
    let end = whole.iter().position(|byte| *byte == b'\n')?;
    let head: Head = serde_json::from_slice(whole.get(..end)?).ok()?;
    let text = mask(&ansi::visible_text(&String::from_utf8_lossy(whole.get(end + 1..)?)));
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let newest = lines.get(lines.len().saturating_sub(MAX_LINES)..).unwrap_or_default();
    Some(LandRunningView {
        what: mask(&head.what),
        since: Timestamp::from_millis(head.since).to_string(),
        output: newest.iter().map(|line| (*line).to_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_has_the_newest_lines_and_is_gone_after_the_command() {
        let dir = tempfile::tempdir().unwrap();
        let worktree = dir.path().join("worktree-2");
        let mut log = CheckLog::begin(&worktree, "checking T-1: make\ntest").unwrap();
        let path = worktree.with_extension(EXTENSION);
        assert_eq!(read(&path).unwrap().output, [""; 0]);
        log.push(b"first\n\x1b[31mred\x1b[0m\n\n");
        let shown = read(&path).unwrap();
        assert_eq!(
            (shown.what.as_str(), shown.output),
            ("checking T-1: make\ntest", vec!["first".into(), "red".into()])
        );
        for number in 0..20_000 {
            log.push(format!("line {number}\n").as_bytes());
        }
        let shown = read(&path).unwrap().output;
        assert_eq!((shown.len(), shown.last().map(String::as_str)), (MAX_LINES, Some("line 19999")));
        assert!(fs::metadata(&path).unwrap().len() < 2 * MAX_BYTES);
        drop(log);
        assert!(read(&path).is_none());
    }
}
