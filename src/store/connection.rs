//! The store: one connection to its SQLite file.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{
    error::StoreError,
    open, schema,
    transaction::{ReadTx, ScratchTx, WriteTx},
    write_queue,
};
use crate::{env::Timestamp, os::notify};

/// An open store: one connection, used by one thread.
#[derive(Debug)]
pub struct Store {
    pub(super) conn: Connection,
    /// `None`: it lives in memory and stands for a store that is not there yet.
    path: Option<PathBuf>,
    wake: PathBuf,
    /// Whether a log file was there before this process came.
    wal_was_there: bool,
    /// The file that was opened, by device and number.
    file: Option<(u64, u64)>,
    /// How long a turn is waited for.
    lock_timeout: Cell<Duration>,
}

impl Store {
    /// Opens the store for reading; where there is none, an empty one in memory answers.
    ///
    /// # Errors
    /// When what is there cannot be used: newer, damaged, foreign, not ours, on a network file system.
    pub fn open_for_reading(path: &Path, runtime: &Path) -> Result<Self, StoreError> {
        if open::is_absent(path)? {
            return Ok(Self {
                conn: open::in_memory()?,
                path: None,
                wake: runtime.join("wake"),
                wal_was_there: false,
                file: None,
                lock_timeout: Cell::new(write_queue::DEFAULT_TIMEOUT),
            });
        }
        Self::open(path, runtime)
    }

    /// Opens the store for reading and writing, making it where there is none. Any number of processes may do so at
    /// once.
    ///
    /// # Errors
    /// As for [`Store::open_for_reading`], and when it cannot be made.
    pub fn open_for_writing(path: &Path, runtime: &Path) -> Result<Self, StoreError> {
        if open::is_absent(path)? {
            open::create(path, &schema::STATE)?;
        }
        Self::open(path, runtime)
    }

    pub(super) fn open(path: &Path, runtime: &Path) -> Result<Self, StoreError> {
        let wal_was_there = open::wal_size(path).is_some();
        let file = open::file_identity(path);
        let conn = open::open_existing(path, &schema::STATE)?;
        Ok(Self {
            conn,
            path: Some(path.to_path_buf()),
            wake: runtime.join("wake"),
            wal_was_there,
            file,
            lock_timeout: Cell::new(write_queue::DEFAULT_TIMEOUT),
        })
    }

    /// From now on waits for others at most about so long; `None`: as long as is usual. For one who has something else to
    /// do meanwhile, and tries again.
    ///
    /// # Errors
    /// As SQLite fails.
    pub fn set_busy_timeout(&self, patience: Option<Duration>) -> Result<(), StoreError> {
        self.lock_timeout.set(patience.unwrap_or(write_queue::DEFAULT_TIMEOUT));
        Ok(self.conn.busy_timeout(patience.unwrap_or(open::BUSY_TIMEOUT))?)
    }

    /// The store's file; `None` for the empty one in memory.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The directory where waiters bind their sockets.
    #[must_use]
    pub fn wake_dir(&self) -> &Path {
        &self.wake
    }

    /// Refuses when another file lies at the store's path by now: what is written to this one would be lost, and what is
    /// read from it is the past.
    pub(super) fn check_path_unchanged(&self) -> Result<(), StoreError> {
        match &self.path {
            Some(path) if open::file_identity(path) != self.file => Err(StoreError::Replaced),
            _ => Ok(()),
        }
    }

    /// Runs `look` on one snapshot.
    ///
    /// # Errors
    /// As `look` or the store fails.
    pub fn read<T, E: From<StoreError>>(&self, look: impl FnOnce(&ReadTx<'_>) -> Result<T, E>) -> Result<T, E> {
        self.check_path_unchanged()?;
        let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Deferred).map_err(StoreError::from)?;
        let seen = look(&ReadTx::new(&tx));
        // Nothing was written; ending it either way frees the snapshot.
        tx.finish().map_err(StoreError::from)?;
        seen
    }

    /// The same at a moment when this store could be written: `None` when that is not so right now, because somebody else
    /// writes. Nothing is written, and nobody is waited for.
    ///
    /// # Errors
    /// As `look` or the store fails, also when it cannot be written at all.
    pub fn read_if_writable<T, E: From<StoreError>>(
        &self,
        look: impl FnOnce(&ReadTx<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        self.check_path_unchanged()?;
        self.set_busy_timeout(Some(Duration::ZERO))?;
        let begun = ScratchTx::begin(&self.conn);
        self.set_busy_timeout(None)?;
        match begun {
            Ok(passing) => look(&passing.read()).map(Some),
            Err(StoreError::Busy) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs `change` as one IMMEDIATE transaction and commits it when it returns `Ok`; then wakes all who wait.
    ///
    /// # Errors
    /// As `change` or the store fails; nothing is then written.
    pub fn write<T, E: From<StoreError>>(
        &self,
        now: Timestamp,
        actor: &str,
        change: impl FnOnce(&WriteTx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let turn = match &self.path {
            Some(path) => write_queue::acquire(path, self.lock_timeout.get()).map_err(StoreError::from)?,
            None => None,
        };
        let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate).map_err(StoreError::from)?;
        self.check_path_unchanged()?;
        let done = change(&WriteTx::new(&tx, now, actor))?;
        if let Some(turn) = &turn {
            turn.release_next();
        }
        tx.commit().map_err(StoreError::from)?;
        drop(turn);
        notify::notify_all(&self.wake);
        Ok(done)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            open::prepare_close(&self.conn, path, self.wal_was_there);
        }
    }
}
