//! How far a store has come, remembered outside of the project: programs that search and replace in all files, or remove files
//! that git does not track, also reach the store. SQLite drops a damaged log without an error, so only something outside of the
//! project can tell that records are gone.
//!
//! Each path of a store has one directory, with one small text file for each store that was seen at that path. It is best effort:
//! the file is never synced, and a command succeeds even when the file cannot be written. A file that is behind the store is
//! normal; one that is ahead of the store shows a loss.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use super::StoreError;
use super::error::Loss;
use super::sql::{self, Connection};
use crate::domain::TaskId;
use crate::os::digest::sha256_hex;
use crate::os::files;

/// The first and the last line of a complete file.
const HEADER: &str = "fairway store 1";
const END: &str = "end";
const SUFFIX: &str = ".progress";
/// The largest file that is read, in bytes, and the number of prefixes of task ids in it.
const MAX_BYTES: u64 = 16 << 10;
const MAX_PREFIXES: usize = 64;
/// The length of a store's id in hexadecimal digits.
const ID_DIGITS: usize = 16;

// The time of the first migration, in nanoseconds, stays with a store and its backups for life. Every change that a caller
// was told of has an event, and the numbers of events only grow.
const POSITION: &str = "SELECT (SELECT applied_on FROM refinery_schema_history ORDER BY version LIMIT 1), \
     (SELECT seq FROM sqlite_sequence WHERE name = 'events')";
const RAISE_EVENT_NUMBER: &str = "UPDATE sqlite_sequence SET seq = seq + $1 WHERE name = 'events'";
const INSERT_EVENT_NUMBER: &str = "INSERT INTO sqlite_sequence (name, seq) SELECT 'events', $1 \
     WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'events')";
const KEEP_USED_ID: &str = "INSERT OR IGNORE INTO removed_tasks (id, removed_at) SELECT $1, $2 \
     WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE id = $1)";

/// How far a store has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    pub event: i64,
    /// The highest number of the task ids that were given out, by prefix.
    pub task_numbers: BTreeMap<String, u64>,
}

impl Progress {
    /// Keeps the higher of each two numbers.
    fn merge(&mut self, other: &Self) {
        self.event = self.event.max(other.event);
        for (prefix, number) in &other.task_numbers {
            self.raise_task_number(prefix, *number);
        }
    }

    /// Remembers that the id of a task was given out. An id that does not end in a number is left out.
    pub fn add_task(&mut self, id: &TaskId) {
        if let Some((prefix, number)) = id.as_str().rsplit_once('-')
            && let Ok(number) = number.parse()
        {
            self.raise_task_number(prefix, number);
        }
    }

    fn raise_task_number(&mut self, prefix: &str, number: u64) {
        if let Some(highest) = self.task_numbers.get_mut(prefix) {
            *highest = number.max(*highest);
        } else if self.task_numbers.len() < MAX_PREFIXES {
            self.task_numbers.insert(prefix.to_owned(), number);
        }
    }

    fn to_text(&self) -> String {
        let mut text = format!("{HEADER}\nevent {}\n", self.event);
        for (prefix, number) in &self.task_numbers {
            let _ = writeln!(text, "task {prefix} {number}");
        }
        text.push_str(END);
        text.push('\n');
        text
    }

    /// Reads a complete file; `None` for anything else, such as one that a power cut left half written.
    fn from_text(text: &str) -> Option<Self> {
        let mut progress = Self::default();
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return None;
        }
        for line in lines {
            let mut words = line.split(' ');
            match (words.next()?, words.next(), words.next()) {
                (END, None, None) => return Some(progress),
                ("event", Some(number), None) => progress.event = number.parse().ok()?,
                ("task", Some(prefix), Some(number)) => progress.raise_task_number(prefix, number.parse().ok()?),
                _ => return None,
            }
        }
        None
    }
}

/// The file that remembers the progress of one open store.
#[derive(Debug)]
pub(super) struct ProgressFile {
    path: PathBuf,
}

impl ProgressFile {
    /// The file of the store behind `conn`, in the directory of its path.
    fn of<'c>(conn: impl Into<Connection<'c>>, dir: &Path) -> Result<(Self, Progress), StoreError> {
        let (id, progress) = position(conn)?;
        Ok((Self { path: dir.join(format!("{id}{SUFFIX}")) }, progress))
    }

    /// Compares a store with what is remembered about it in the directory `dir`.
    /// Fails with [`StoreError::Lost`] when the store lacks records that were written.
    pub(super) fn check<'c>(conn: impl Into<Connection<'c>>, path: &Path, dir: &Path) -> Result<Self, StoreError> {
        let conn = conn.into();
        let (file, found) = Self::of(conn, dir)?;
        let Some(known) = file.read() else { return Ok(file) };
        if known.event <= found.event {
            return Ok(file);
        }
        // Another process may have written, and remembered, in between.
        let (_, found) = position(conn)?;
        match loss(&known, &found) {
            Some(loss) => Err(StoreError::Lost { path: path.to_path_buf(), loss }),
            None => Ok(file),
        }
    }

    /// The remembered progress; `None` without a readable file.
    fn read(&self) -> Option<Progress> {
        read(&self.path)
    }

    /// Remembers how far the store has come. A failure is ignored: the remembered numbers are then lower than the store's, which
    /// does no harm.
    pub(super) fn record(&self, new: &Progress) {
        let _ = self.try_record(new);
    }

    fn try_record(&self, new: &Progress) -> io::Result<()> {
        let open = || {
            let nofollow = OFlag::O_NOFOLLOW.bits() | OFlag::O_CLOEXEC.bits();
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(nofollow)
                .open(&self.path)
        };
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_dir(&self.path)?;
                open()?
            }
            opened => opened?,
        };
        let mut old = String::new();
        (&file).take(MAX_BYTES).read_to_string(&mut old)?;
        let mut known = Progress::from_text(&old).unwrap_or_default();
        known.merge(new);
        let text = known.to_text();
        if text != old {
            // Short enough for one write, which readers see whole.
            file.write_all_at(text.as_bytes(), 0)?;
            if old.len() > text.len() {
                file.set_len(u64::try_from(text.len()).unwrap_or(0))?;
            }
        }
        Ok(())
    }
}

/// The loss of a store that should have come as far as `known`.
fn loss(known: &Progress, found: &Progress) -> Option<Loss> {
    (known.event > found.event).then_some(Loss { known_event: known.event, found_event: found.event })
}

/// The id of a store and the number of its newest event, without its task numbers.
pub(super) fn position<'c>(conn: impl Into<Connection<'c>>) -> Result<(String, Progress), StoreError> {
    let found = sql::first(conn, POSITION, &[], |row| {
        let made: Option<String> = row.get(0)?;
        Ok((made.unwrap_or_default(), row.get::<Option<i64>>(1)?.unwrap_or_default()))
    })?;
    let (made, event) = found.unwrap_or_default();
    let id = sha256_hex(made.as_bytes()).get(..ID_DIGITS).unwrap_or_default().to_owned();
    Ok((id, Progress { event, task_numbers: BTreeMap::new() }))
}

/// Whether the directory remembers any store at its path.
pub fn is_known(dir: &Path) -> bool {
    !progress_files(dir).is_empty()
}

/// How far the stores that the directory remembers had come, as the highest number of each kind; zero when it remembers none.
pub fn known(dir: &Path) -> Progress {
    let mut known = Progress::default();
    for path in progress_files(dir) {
        if let Some(progress) = read(&path) {
            known.merge(&progress);
        }
    }
    known
}

/// The records that are missing from the store; `None` when none are known to be missing.
pub(super) fn missing(conn: Connection<'_>, dir: &Path) -> Result<Option<Loss>, StoreError> {
    let (file, found) = ProgressFile::of(conn, dir)?;
    Ok(file.read().and_then(|known| loss(&known, &found)))
}

/// Raises the number of a store's newest event and its task numbers to those in `known`, so that none is given out again.
pub(super) fn raise_to(conn: Connection<'_>, known: &Progress, now_millis: i64) -> Result<(), StoreError> {
    let (_, found) = position(conn)?;
    let by = known.event - found.event;
    if by > 0 {
        sql::execute(conn, INSERT_EVENT_NUMBER, &[&0_i64])?;
        sql::execute(conn, RAISE_EVENT_NUMBER, &[&by])?;
    }
    for (prefix, number) in &known.task_numbers {
        sql::execute(conn, KEEP_USED_ID, &[&format!("{prefix}-{number}"), &now_millis])?;
    }
    Ok(())
}

/// Remembers the store that has replaced those that the directory remembers, and forgets them, except for their task numbers. A
/// failure is ignored.
pub(super) fn replace<'c>(conn: impl Into<Connection<'c>>, dir: &Path) {
    let Ok((file, mut progress)) = ProgressFile::of(conn, dir) else { return };
    progress.task_numbers = known(dir).task_numbers;
    for path in progress_files(dir) {
        let _ = fs::remove_file(path);
    }
    file.record(&progress);
}

fn read(path: &Path) -> Option<Progress> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NOFOLLOW.bits()).open(path).ok()?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Progress::from_text(&text)
}

fn progress_files(dir: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.to_string_lossy().ends_with(SUFFIX)).collect()
}

/// Creates the directory of a file in it, and the two above, for this user alone.
fn create_dir(file: &Path) -> io::Result<()> {
    for dir in file.ancestors().skip(1).take(3).collect::<Vec<_>>().into_iter().rev() {
        files::private_dir(dir)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_file_is_read_as_it_was_written_and_a_cut_one_counts_as_none() {
        let mut progress = Progress { event: 298, ..Progress::default() };
        for id in ["T-9", "T-150", "WEB-3", "T-12", "no-number-x"] {
            progress.add_task(&TaskId::parse(id).unwrap());
        }
        let text = progress.to_text();
        assert_eq!(text, "fairway store 1\nevent 298\ntask T 150\ntask WEB 3\nend\n");
        assert_eq!(Progress::from_text(&text), Some(progress));
        for length in 0..text.len() - 1 {
            assert_eq!(Progress::from_text(&text[..length]), None, "{length}");
        }
        assert_eq!(Progress::from_text("fairway store 2\nend\n"), None);
    }

    #[test]
    fn recorded_numbers_only_grow() {
        let home = tempfile::tempdir().unwrap();
        let file = ProgressFile { path: home.path().join("stores/path/id.progress") };
        assert_eq!(file.read(), None);
        let of = |event| Progress { event, ..Progress::default() };
        file.record(&of(100));
        file.record(&of(99));
        assert_eq!(file.read(), Some(of(100)));
        assert!(is_known(&home.path().join("stores/path")) && !is_known(&home.path().join("stores/other")));
        // A half written file is replaced.
        fs::write(&file.path, "fairway store 1\nevent 1").unwrap();
        file.record(&of(5));
        assert_eq!(file.read(), Some(of(5)));
    }
}
