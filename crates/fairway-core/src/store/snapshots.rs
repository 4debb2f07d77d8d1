//! Snapshots: checked copies of the store outside its tree. The newest few are kept.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use super::{Store, StoreError, backup, open, progress};
use crate::domain::rules::retention::{self, Finished, Limits};
use crate::env::Timestamp;
use crate::os::files;
use crate::os::lock::InheritableLock;

/// The directory of the snapshots, in that of what is kept about a store outside its tree.
const DIR: &str = "snapshots";
/// The lock of the process that makes a snapshot, beside that directory.
const LOCK: &str = "snapshots.lock";
/// The ending of a snapshot's name, after time and event.
const SUFFIX: &str = ".db";
/// The time after the last write at which its store counts as idle.
pub use super::open::IDLE_WAL_AGE;

/// The shortest time between two snapshots.
pub const MIN_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// When a snapshot of an unchanged store is made again, so that deleted messages are gone from the newest one too.
const RENEW_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
/// A larger store gets no snapshot.
pub const MAX_STORE_BYTES: u64 = 256 << 20;
/// The retention of snapshots: as long as settled messages, at most twelve, at most 512 MiB.
const LIMITS: Limits =
    Limits { age: Some(Duration::from_secs(7 * 24 * 60 * 60)), count: 12, bytes: Some(2 * MAX_STORE_BYTES) };
/// The age of a draft whose writer was killed.
const ABANDONED_AGE: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub path: PathBuf,
    /// When it was made.
    pub at: Timestamp,
    /// The newest event in it.
    pub event: i64,
    pub bytes: u64,
}

/// The snapshots of a store, newest first. `outside` is the directory, outside of the project, in which they are kept.
pub fn list(outside: &Path) -> Vec<Snapshot> {
    let read = |entry: fs::DirEntry| {
        let (at, event) = parse_name(entry.file_name().to_str()?)?;
        let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Snapshot { path: entry.path(), at, event, bytes: found.len() })
    };
    let entries = fs::read_dir(outside.join(DIR)).into_iter().flatten().flatten();
    let mut found: Vec<Snapshot> = entries.filter_map(read).collect();
    found.sort_by_key(|snapshot| (snapshot.at, snapshot.event));
    found.reverse();
    found
}

pub fn exist(outside: &Path) -> bool {
    newest(outside).is_some()
}

/// The time and the event of the newest snapshot. Only names are read, because every write calls this.
fn newest(outside: &Path) -> Option<(Timestamp, i64)> {
    let entries = fs::read_dir(outside.join(DIR)).into_iter().flatten().flatten();
    entries.filter_map(|entry| parse_name(entry.file_name().to_str()?)).max()
}

/// Parses a name such as `TIME-EVENT.db`.
fn parse_name(name: &str) -> Option<(Timestamp, i64)> {
    let (at, event) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    Some((Timestamp::from_millis(at.parse().ok()?), event.parse().ok()?))
}

/// Writes the WAL of an idle store back into its file, where a program that changes every file of a tree does less harm; does
/// nothing while the WAL is in use. It is for a process that keeps the store open: otherwise SQLite does this when the last
/// process closes the store.
pub fn write_back_idle_log(store: &Store) -> Result<(), StoreError> {
    let Some(path) = store.path().filter(|path| open::has_idle_wal(path)) else { return Ok(()) };
    let mut answer = store.file()?.conn.prepare_cached("PRAGMA wal_checkpoint(TRUNCATE)")?;
    answer.query_row([], |_| Ok(())).map_err(|error| StoreError::from(error).with_path(path))
}

/// Whether a snapshot is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When the newest one is old enough and the store has changed since.
    Due,
    /// When the store has changed since the newest one.
    Changed,
}

/// Makes a snapshot, and removes older ones that exceed the limits. Returns `None` when none was needed, when another process
/// makes one, when the store is too large for one, and when it is not in a file.
pub fn make(store: &Store, outside: &Path, now: Timestamp, when: When) -> Result<Option<Snapshot>, StoreError> {
    let Some(path) = store.path() else { return Ok(None) };
    // Of most writes this is all.
    if when == When::Due && newest(outside).is_some_and(|(at, _)| age(at, now) < MIN_INTERVAL) {
        return Ok(None);
    }
    store.file()?.check_path_unchanged()?;
    let event = progress::position(&store.file()?.conn)?.1.event;
    let is_needed = |newest: Option<(Timestamp, i64)>| match (when, newest) {
        (When::Due, newest) => is_due(newest, event, now),
        (When::Changed, newest) => newest.map_or(0, |(_, known)| known) != event,
    };
    if !is_needed(newest(outside)) || size(path) > MAX_STORE_BYTES {
        return Ok(None);
    }
    let dir = outside.join(DIR);
    let io = |error| StoreError::io(dir.display().to_string(), error);
    for dir in dir.ancestors().take(3).collect::<Vec<_>>().into_iter().rev() {
        files::private_dir(dir).map_err(io)?;
    }
    // Of the processes that write at once, one makes it.
    let lock = InheritableLock::try_acquire(&outside.join(LOCK)).map_err(io)?;
    if lock.is_none() || !is_needed(newest(outside)) {
        return Ok(None);
    }
    let target = dir.join(format!("{}-{event}{SUFFIX}", now.millis()));
    let bytes = backup::back_up(store, &target, true)?.bytes;
    remove_surplus(outside, now);
    Ok(Some(Snapshot { path: target, at: now, event, bytes }))
}

/// Whether a snapshot of a store with this newest event is due.
fn is_due(newest: Option<(Timestamp, i64)>, event: i64, now: Timestamp) -> bool {
    let Some((at, known)) = newest else { return event > 0 };
    age(at, now) >= RENEW_INTERVAL || (age(at, now) >= MIN_INTERVAL && event != known)
}

/// The age of a snapshot. One from a clock that was ahead is as old as its time is far from now.
fn age(at: Timestamp, now: Timestamp) -> Duration {
    now.since(at).max(at.since(now))
}

/// The bytes of the store and its log.
fn size(path: &Path) -> u64 {
    let main = fs::metadata(path).map_or(0, |found| found.len());
    main + open::wal_size(path).unwrap_or(0)
}

fn remove_surplus(outside: &Path, now: Timestamp) {
    let mut found = list(outside);
    found.reverse();
    let sizes: Vec<Finished> =
        found.iter().map(|snapshot| Finished { at: snapshot.at, bytes: snapshot.bytes }).collect();
    for snapshot in found.iter().take(retention::surplus(&sizes, &LIMITS, now)) {
        let _ = fs::remove_file(&snapshot.path);
    }
    let abandoned = |entry: &fs::DirEntry| -> io::Result<bool> {
        let at = Timestamp::from_system_time(entry.metadata()?.modified()?).unwrap_or(now);
        Ok(entry.file_name().to_string_lossy().contains(".tmp") && now.since(at) > ABANDONED_AGE)
    };
    for entry in fs::read_dir(outside.join(DIR)).into_iter().flatten().flatten() {
        if abandoned(&entry).unwrap_or(false) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_is_due_after_a_change_and_ten_minutes_or_after_a_day() {
        let at = |minutes: i64| Timestamp::from_millis(1_000_000_000 + minutes * 60_000);
        let due = |event, minutes| is_due(Some((at(0), 5)), event, at(minutes));
        assert!(!is_due(None, 0, at(0)) && is_due(None, 1, at(0)));
        assert!(!due(6, 9) && due(6, 10) && !due(5, 10));
        assert!(!due(5, 23 * 60) && due(5, 24 * 60));
        // The clock was ahead when the newest one was made.
        assert!(due(6, -10) && !due(5, -10));
    }

    #[test]
    fn old_snapshots_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join(DIR);
        fs::create_dir(&dir).unwrap();
        let day = 24 * 60 * 60 * 1_000;
        let now = Timestamp::from_millis(100 * day);
        fs::write(dir.join(format!("{}-1.db", 92 * day)), "old").unwrap();
        for number in 0..14 {
            fs::write(dir.join(format!("{}-{number}.db", 99 * day + number)), "x").unwrap();
        }
        fs::write(dir.join("note.txt"), "not ours").unwrap();
        remove_surplus(home.path(), now);
        let left: Vec<i64> = list(home.path()).iter().map(|snapshot| snapshot.event).collect();
        assert_eq!(left, (2..14).rev().collect::<Vec<_>>());
        assert!(dir.join("note.txt").exists());
    }
}
