//! Snapshots: checked copies of the store outside its tree. The newest few are kept.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Store, StoreError, backup, open, progress};
use crate::{
    domain::rules::retention::{self, Finished, Limits},
    env::Timestamp,
    os::files,
};

/// The directory of the snapshots, in that of what is kept about a store outside its tree.
const DIR: &str = "snapshots";
/// The ending of a snapshot's name, after time and event.
const SUFFIX: &str = ".db";
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

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its file.
    pub path: PathBuf,
    /// When it was made.
    pub at: Timestamp,
    /// The newest event in it.
    pub event: i64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// The snapshots of a store, newest first. `outside` is the directory of what is kept outside the store's tree.
#[must_use]
pub fn list(outside: &Path) -> Vec<Snapshot> {
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let (at, event) = name.strip_suffix(SUFFIX)?.split_once('-')?;
        let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Snapshot {
            path: entry.path(),
            at: Timestamp::from_millis(at.parse().ok()?),
            event: event.parse().ok()?,
            bytes: found.len(),
        })
    };
    let entries = fs::read_dir(outside.join(DIR)).into_iter().flatten().flatten();
    let mut found: Vec<Snapshot> = entries.filter_map(read).collect();
    found.sort_by_key(|snapshot| (snapshot.at, snapshot.event));
    found.reverse();
    found
}

/// Makes a snapshot when the newest one is old enough and the store has changed since, and removes the surplus. `None` when
/// none was due, or the store is too large for one.
///
/// # Errors
/// As the store or the files fail; [`StoreError::Damaged`] when the store is damaged.
pub fn make_if_due(store: &Store, outside: &Path, now: Timestamp) -> Result<Option<Snapshot>, StoreError> {
    let Some(path) = store.path() else { return Ok(None) };
    let event = progress::position(&store.file()?.conn)?.1.event;
    if !is_due(list(outside).first(), event, now) || size(path) > MAX_STORE_BYTES {
        return Ok(None);
    }
    let dir = outside.join(DIR);
    let io = |error| StoreError::io(dir.display().to_string(), error);
    for dir in dir.ancestors().take(3).collect::<Vec<_>>().into_iter().rev() {
        files::private_dir(dir).map_err(io)?;
    }
    let target = dir.join(format!("{}-{event}{SUFFIX}", now.millis()));
    let bytes = backup::back_up(store, &target, true)?.bytes;
    remove_surplus(outside, now);
    Ok(Some(Snapshot { path: target, at: now, event, bytes }))
}

/// Whether a snapshot of a store with this newest event is due.
fn is_due(newest: Option<&Snapshot>, event: i64, now: Timestamp) -> bool {
    let Some(newest) = newest else { return event > 0 };
    // A snapshot of a clock that was ahead is as old as it is far from now.
    let age = now.since(newest.at).max(newest.at.since(now));
    age >= RENEW_INTERVAL || (age >= MIN_INTERVAL && event != newest.event)
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
        let newest = Snapshot { path: PathBuf::new(), at: at(0), event: 5, bytes: 0 };
        let due = |event, minutes| is_due(Some(&newest), event, at(minutes));
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
