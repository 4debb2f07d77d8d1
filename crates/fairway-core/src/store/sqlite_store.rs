//! A store in a SQLite file: one connection to it.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::StoreError;
use super::open::{self, FileStamp};
use super::progress::{self, ProgressFile};
use super::schema;
use super::transaction::{ReadTx, ScratchTx, WriteTx};
use crate::env::Clock;
use crate::os::lock_queue::QueuedLock;

/// An open file.
#[derive(Debug)]
pub(super) struct SqliteStore {
    pub(super) conn: Connection,
    /// `None` for the empty store in memory that stands for a missing file.
    path: Option<PathBuf>,
    /// Whether a WAL file existed before this process opened the store.
    wal_was_there: bool,
    /// The opened file, by device and inode number.
    file: Option<(u64, u64)>,
    /// The progress that is remembered outside the store's tree; `None` without a place for it.
    progress: Option<ProgressFile>,
    /// How long to wait in the write queue.
    lock_timeout: Cell<Duration>,
    /// The state of a file that is read without locks, because this process can create neither a WAL nor its index.
    unlocked: Option<FileStamp>,
}

impl SqliteStore {
    /// Opens the store for reading. When its file is missing, opens an empty store in memory instead. A store that cannot be
    /// written and has no WAL is read without locks. `outside` is the directory, outside of the project, that remembers how far
    /// the store has come.
    ///
    /// # Errors
    /// When the file cannot be used: it has a newer schema, is damaged, comes from another program, belongs to another user, or
    /// is on a network file system. Also when it lacks records that were written, and when a store that existed is gone.
    pub fn open_for_reading(path: &Path, outside: Option<&Path>) -> Result<Self, StoreError> {
        if open::is_absent(path)? {
            refuse_gone(path, outside)?;
            return Ok(Self {
                conn: open::in_memory()?,
                path: None,
                wal_was_there: false,
                file: None,
                progress: None,
                lock_timeout: Cell::new(open::QUEUE_TIMEOUT),
                unlocked: None,
            });
        }
        match Self::open(path, outside) {
            Err(error @ StoreError::ReadOnly { .. }) => Self::open_unlocked(path).map_err(|_| error),
            opened => opened,
        }
    }

    /// Opens the store for reading and writing, and creates it if it is missing. Any number of processes may do so at
    /// once.
    pub fn open_for_writing(path: &Path, outside: Option<&Path>) -> Result<Self, StoreError> {
        if open::is_absent(path)? {
            refuse_gone(path, outside)?;
            open::create(path, &schema::STATE).map_err(|error| error.with_path(path))?;
        }
        Self::open(path, outside)
    }

    pub(super) fn open(path: &Path, outside: Option<&Path>) -> Result<Self, StoreError> {
        let wal_was_there = open::wal_size(path).is_some();
        let file = open::file_identity(path);
        let conn = open::open_existing(path, &schema::STATE).map_err(|error| error.with_path(path))?;
        let progress = outside.map(|dir| ProgressFile::check(&conn, path, dir)).transpose();
        let progress = progress.map_err(|error| error.with_path(path))?;
        Ok(Self {
            conn,
            path: Some(path.to_path_buf()),
            wal_was_there,
            file,
            progress,
            lock_timeout: Cell::new(open::QUEUE_TIMEOUT),
            unlocked: None,
        })
    }

    /// Opens a store that has no WAL for reading without locks.
    fn open_unlocked(path: &Path) -> Result<Self, StoreError> {
        let (conn, stamp) = open::open_unlocked(path, &schema::STATE)?;
        Ok(Self {
            conn,
            path: Some(path.to_path_buf()),
            wal_was_there: false,
            file: open::file_identity(path),
            progress: None,
            lock_timeout: Cell::new(open::QUEUE_TIMEOUT),
            unlocked: Some(stamp),
        })
    }

    /// Sets about how long later calls wait for other processes; `None` restores the default. For callers that have other work
    /// and try again later.
    pub fn set_busy_timeout(&self, timeout: Option<Duration>) -> Result<(), StoreError> {
        self.lock_timeout.set(timeout.unwrap_or(open::QUEUE_TIMEOUT));
        Ok(self.conn.busy_timeout(timeout.unwrap_or(open::BUSY_TIMEOUT))?)
    }

    /// The store's file; `None` for the empty store in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Fails if another file is at the store's path now: a write to the opened file would be lost, and a read would be out of
    /// date.
    pub(super) fn check_path_unchanged(&self) -> Result<(), StoreError> {
        match &self.path {
            Some(path) if open::file_identity(path) != self.file => Err(StoreError::Replaced),
            _ => Ok(()),
        }
    }

    /// Begins a read on one snapshot.
    /// Fails when another file is at the store's path now.
    pub fn begin_read(&self) -> Result<SqliteRead<'_>, StoreError> {
        self.check_path_unchanged()?;
        let transaction = Transaction::new_unchecked(&self.conn, TransactionBehavior::Deferred)?;
        Ok(SqliteRead { store: self, transaction, snapshot: ReadTx::from_connection(&self.conn) })
    }

    /// Takes the write lock for a read; `None` if another process has it now. Writes nothing and does not wait.
    pub fn begin_scratch(&self) -> Result<Option<ScratchTx<'_>>, StoreError> {
        self.check_path_unchanged()?;
        self.set_busy_timeout(Some(Duration::ZERO))?;
        let scratch = ScratchTx::begin(&self.conn);
        self.set_busy_timeout(None)?;
        match scratch {
            Ok(scratch) => Ok(Some(scratch)),
            Err(StoreError::Busy) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits for a turn in the write queue, for as long as the lock timeout allows, then begins an IMMEDIATE transaction with or
    /// without a turn. Its time is read after the wait: a record of an earlier transaction is not in the future of a later one.
    pub fn begin_write<'a>(&'a self, clock: Clock, actor: &'a str) -> Result<SqliteWrite<'a>, StoreError> {
        let with_path = |error: StoreError| match &self.path {
            Some(path) => error.with_path(path),
            None => error,
        };
        let turn = match &self.path {
            Some(path) => open::acquire_turn(path, self.lock_timeout.get()).map_err(|error| with_path(error.into()))?,
            None => None,
        };
        let transaction = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)
            .map_err(|error| with_path(error.into()))?;
        self.check_path_unchanged()?;
        Ok(SqliteWrite { store: self, transaction, turn, change: WriteTx::new(&self.conn, clock.now(), actor) })
    }

    /// Remembers, outside of the project, the newest event and the task ids of a commit.
    pub(super) fn remember(&self, committed: &progress::Progress) {
        // A change without an event leaves nothing that could be missed.
        if let Some(file) = self.progress.as_ref().filter(|_| committed.event > 0) {
            file.record(committed);
        }
    }
}

#[derive(Debug)]
pub(super) struct SqliteRead<'a> {
    store: &'a SqliteStore,
    transaction: Transaction<'a>,
    snapshot: ReadTx<'a>,
}

impl<'a> SqliteRead<'a> {
    pub const fn snapshot(&self) -> &ReadTx<'a> {
        &self.snapshot
    }

    /// Ends the read and frees its snapshot.
    /// Fails when the file was read without locks and has changed meanwhile.
    pub fn end(self) -> Result<(), StoreError> {
        // Nothing was written. Commit and rollback both free the snapshot.
        self.transaction.finish()?;
        // Without locks another process may have written meanwhile: then what was read is no snapshot.
        match (&self.store.unlocked, &self.store.path) {
            (Some(stamp), Some(path)) if open::unlocked_stamp(path).as_ref() != Some(stamp) => Err(StoreError::Busy),
            _ => Ok(()),
        }
    }
}

/// A write that has begun. Dropping it rolls back, then leaves the write queue: the fields are dropped in this order.
#[derive(Debug)]
pub(super) struct SqliteWrite<'a> {
    store: &'a SqliteStore,
    transaction: Transaction<'a>,
    turn: Option<QueuedLock>,
    change: WriteTx<'a>,
}

impl<'a> SqliteWrite<'a> {
    pub const fn change(&self) -> &WriteTx<'a> {
        &self.change
    }

    /// Commits the write and leaves the write queue.
    /// After an error nothing is written.
    pub fn commit(self) -> Result<(), StoreError> {
        let progress = self.change.into_progress();
        if let Some(turn) = &self.turn {
            turn.release_next();
        }
        self.transaction.commit()?;
        self.store.remember(&progress);
        drop(self.turn);
        Ok(())
    }
}

/// Refuses a missing store that was seen before: an empty one in its place would hide the loss.
fn refuse_gone(path: &Path, outside: Option<&Path>) -> Result<(), StoreError> {
    match outside {
        Some(dir) if progress::is_known(dir) => Err(StoreError::Gone { path: path.to_path_buf() }),
        _ => Ok(()),
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            open::prepare_close(&self.conn, path, self.wal_was_there);
        }
    }
}
