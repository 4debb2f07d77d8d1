//! Whether a command wrote to a store. Reading all rows after each command would take longer than the command.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

/// A connection that stays open beside the commands, so that it notices their commits.
pub struct StoreWatch {
    path: PathBuf,
    seen: Option<Seen>,
}

struct Seen {
    store: Connection,
    file: u64,
    version: i64,
}

impl Seen {
    /// `None` for a file that is no store.
    fn open(path: &Path) -> Option<Self> {
        let store = Connection::open(path).ok()?;
        let version = data_version(&store)?;
        Some(Self { store, file: inode(path)?, version })
    }
}

/// The number that changes with each commit of another connection.
fn data_version(store: &Connection) -> Option<i64> {
    store.query_row("PRAGMA data_version", [], |row| row.get(0)).ok()
}

fn inode(path: &Path) -> Option<u64> {
    Some(fs::metadata(path).ok()?.ino())
}

impl StoreWatch {
    /// Watches the store at a path from now on.
    pub fn new(path: PathBuf) -> Self {
        let seen = Seen::open(&path);
        Self { path, seen }
    }

    /// Whether a transaction was committed, or the file was replaced, since the last look.
    pub fn has_changed(&mut self) -> bool {
        let file = inode(&self.path);
        let version = self.seen.as_ref().and_then(|seen| data_version(&seen.store));
        let is_same = self.seen.as_ref().map(|seen| (Some(seen.file), Some(seen.version))) == Some((file, version));
        if let Some(seen) = self.seen.as_mut().filter(|seen| Some(seen.file) == file) {
            seen.version = version.unwrap_or_default();
        } else {
            self.seen = Seen::open(&self.path);
        }
        !is_same
    }
}

#[test]
fn store_watch_notices_a_commit_and_another_file_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a)").unwrap();
    let mut watch = StoreWatch::new(path.clone());
    assert!(!watch.has_changed());
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1); ROLLBACK; SELECT * FROM t").unwrap();
    assert!(!watch.has_changed());
    other.execute_batch("INSERT INTO t VALUES (1)").unwrap();
    assert!(watch.has_changed() && !watch.has_changed());
    drop(other);
    fs::copy(&path, home.path().join("copy.db")).unwrap();
    fs::rename(home.path().join("copy.db"), &path).unwrap();
    assert!(watch.has_changed() && !watch.has_changed());
}
