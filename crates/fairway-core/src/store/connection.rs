//! The store: one connection to a SQLite file or a PostgreSQL server.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tracing::span::EnteredSpan;

use super::error::StoreError;
#[cfg(feature = "postgres")]
use super::postgres::{PostgresRead, PostgresStore, PostgresWrite, StoreAddress};
use super::sql;
use super::sqlite_store::{SqliteRead, SqliteStore, SqliteWrite};
use super::transaction::{ReadTx, WriteTx};
use crate::env::{Clock, Timestamp};
use crate::os::notify::{self, ChangeWaiter};

/// An open store: one connection, used by one thread.
#[derive(Debug)]
pub struct Store {
    engine: Engine,
    wake: PathBuf,
}

#[derive(Debug)]
#[cfg_attr(feature = "postgres", expect(clippy::large_enum_variant, reason = "a process has one store, not many"))]
enum Engine {
    Sqlite(SqliteStore),
    #[cfg(feature = "postgres")]
    Postgres(PostgresStore),
}

impl Store {
    /// Opens the store for reading. When its file is missing, opens an empty store in memory instead. A store that cannot be
    /// written and has no WAL is read without locks. `outside` is the directory, outside of the project, that remembers how far
    /// the store has come.
    ///
    /// # Errors
    /// When the file cannot be used: it has a newer schema, is damaged, comes from another program, belongs to another user, or
    /// is on a network file system. Also when it lacks records that were written, and when a store that existed is gone.
    pub fn open_for_reading(path: &Path, runtime: &Path, outside: Option<&Path>) -> Result<Self, StoreError> {
        SqliteStore::open_for_reading(path, outside).map(|store| Self::in_file(store, runtime))
    }

    /// Opens the store for reading and writing, and creates it if it is missing. Any number of processes may do so at
    /// once.
    pub fn open_for_writing(path: &Path, runtime: &Path, outside: Option<&Path>) -> Result<Self, StoreError> {
        SqliteStore::open_for_writing(path, outside).map(|store| Self::in_file(store, runtime))
    }

    pub(super) fn open(path: &Path, runtime: &Path, outside: Option<&Path>) -> Result<Self, StoreError> {
        SqliteStore::open(path, outside).map(|store| Self::in_file(store, runtime))
    }

    fn in_file(store: SqliteStore, runtime: &Path) -> Self {
        Self { engine: Engine::Sqlite(store), wake: runtime.join("wake") }
    }

    /// Connects to the store of a project on a server, for the checkout at `root`. Times are the server's, unless `clock` is a
    /// fixed one.
    #[cfg(feature = "postgres")]
    pub fn connect(address: &StoreAddress, root: &Path, runtime: &Path, clock: Clock) -> Result<Self, StoreError> {
        let store = PostgresStore::open(address, root, clock)?;
        Ok(Self { engine: Engine::Postgres(store), wake: runtime.join("wake") })
    }

    /// Creates the store of a project on a server, or migrates it to the newest schema.
    #[cfg(feature = "postgres")]
    pub fn migrate(address: &StoreAddress) -> Result<(), StoreError> {
        PostgresStore::migrate(address)
    }

    /// The store's file, for operations that only a file supports.
    /// Fails with [`StoreError::NoFile`] when the store is on a server.
    #[cfg_attr(not(feature = "postgres"), expect(clippy::unnecessary_wraps, reason = "one engine is always a file"))]
    pub(super) fn file(&self) -> Result<&SqliteStore, StoreError> {
        match &self.engine {
            Engine::Sqlite(store) => Ok(store),
            #[cfg(feature = "postgres")]
            Engine::Postgres(store) => Err(StoreError::NoFile { address: store.address().to_string() }),
        }
    }

    /// The store on a server; `None` for one in a file.
    #[cfg(feature = "postgres")]
    pub(super) const fn server(&self) -> Option<&PostgresStore> {
        match &self.engine {
            Engine::Sqlite(_) => None,
            Engine::Postgres(store) => Some(store),
        }
    }

    /// Sets about how long later calls wait for other processes; `None` restores the default. For callers that have other work
    /// and try again later.
    pub fn set_busy_timeout(&self, timeout: Option<Duration>) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(store) => store.set_busy_timeout(timeout),
            #[cfg(feature = "postgres")]
            Engine::Postgres(store) => store.set_lock_timeout(timeout),
        }
    }

    /// The store's file; `None` for the empty store in memory, and for one on a server.
    pub fn path(&self) -> Option<&Path> {
        self.file().ok().and_then(SqliteStore::path)
    }

    /// Whether this is the empty store in memory that stands for a missing file.
    pub fn is_missing(&self) -> bool {
        self.file().is_ok_and(|store| store.path().is_none())
    }

    /// The directory in which processes that wait for changes bind their sockets.
    pub fn wake_dir(&self) -> &Path {
        &self.wake
    }

    /// The time by which records are judged: `now` for a store in a file or with a fixed clock, otherwise the server's time.
    pub fn time(&self, now: Timestamp) -> Result<Timestamp, StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(now),
            #[cfg(feature = "postgres")]
            Engine::Postgres(store) => store.time(now),
        }
    }

    /// Makes changes by other hosts wake `waiter` too, which is bound in [`Store::wake_dir`]. A change may have come before this
    /// call, so the caller must look at the store once after it.
    pub fn listen(&self, waiter: ChangeWaiter) -> Result<ChangeWaiter, StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(waiter),
            #[cfg(feature = "postgres")]
            Engine::Postgres(store) => store.listen(waiter),
        }
    }

    pub fn read<T, E: From<StoreError>>(&self, query: impl FnOnce(&ReadTx<'_>) -> Result<T, E>) -> Result<T, E> {
        let open = self.begin_read()?;
        let found = query(open.snapshot());
        open.end(found.is_ok())?;
        found
    }

    /// As [`Self::read`], for many statements: on a server, those that do not depend on each other's rows are sent in one
    /// exchange. For that, `query` may run several times, and in every run but the last a new statement returns no rows. So
    /// `query` must have no effect, and must send the same statements each time.
    pub fn read_together<T, E: From<StoreError>>(
        &self,
        mut query: impl FnMut(&ReadTx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let open = self.begin_read()?;
        let found = sql::together(open.snapshot().conn(), || query(open.snapshot()))?;
        open.end(found.is_ok())?;
        found
    }

    /// Runs `query` when the store can be written, but writes nothing and does not wait. Returns `None` when another process is
    /// writing to the file now.
    /// Fails when the store cannot be written.
    pub fn read_if_writable<T, E: From<StoreError>>(
        &self,
        query: impl FnOnce(&ReadTx<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        match &self.engine {
            Engine::Sqlite(store) => store.begin_scratch()?.map(|scratch| query(&scratch.read())).transpose(),
            #[cfg(feature = "postgres")]
            Engine::Postgres(store) => {
                store.check_writable()?;
                self.read(query).map(Some)
            }
        }
    }

    /// Runs `change` as one transaction that excludes every other write, and commits it if `change` returns `Ok`. Then wakes all
    /// waiting processes of this host.
    /// After an error nothing is written.
    pub fn write<T, E: From<StoreError>>(
        &self,
        clock: Clock,
        actor: &str,
        change: impl FnOnce(&WriteTx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let open = self.begin_write(clock, actor)?;
        let done = change(open.change())?;
        open.commit()?;
        notify::notify_all(&self.wake);
        Ok(done)
    }

    // The engines are chosen in functions that are compiled once, not once for each query.

    fn begin_read(&self) -> Result<OpenRead<'_>, StoreError> {
        let span = tracing::debug_span!("read").entered();
        let engine = match &self.engine {
            Engine::Sqlite(store) => store.begin_read().map(EngineRead::Sqlite),
            #[cfg(feature = "postgres")]
            Engine::Postgres(store) => store.begin_read().map(EngineRead::Postgres),
        };
        Ok(OpenRead { engine: engine?, _span: span })
    }

    fn begin_write<'a>(&'a self, clock: Clock, actor: &'a str) -> Result<OpenWrite<'a>, StoreError> {
        let span = tracing::debug_span!("write", actor).entered();
        let engine = match &self.engine {
            Engine::Sqlite(store) => store.begin_write(clock, actor).map(EngineWrite::Sqlite),
            #[cfg(feature = "postgres")]
            Engine::Postgres(store) => store.begin_write(clock, actor).map(EngineWrite::Postgres),
        };
        tracing::debug!("begun");
        Ok(OpenWrite { engine: engine?, _span: span })
    }
}

struct OpenRead<'a> {
    engine: EngineRead<'a>,
    _span: EnteredSpan,
}

enum EngineRead<'a> {
    Sqlite(SqliteRead<'a>),
    #[cfg(feature = "postgres")]
    Postgres(PostgresRead<'a>),
}

impl<'a> OpenRead<'a> {
    const fn snapshot(&self) -> &ReadTx<'a> {
        match &self.engine {
            EngineRead::Sqlite(open) => open.snapshot(),
            #[cfg(feature = "postgres")]
            EngineRead::Postgres(open) => open.snapshot(),
        }
    }

    #[cfg_attr(
        not(feature = "postgres"),
        expect(unused_variables, reason = "a file is read the same way in both cases")
    )]
    fn end(self, is_ok: bool) -> Result<(), StoreError> {
        match self.engine {
            EngineRead::Sqlite(open) => open.end(),
            #[cfg(feature = "postgres")]
            EngineRead::Postgres(open) => {
                // Dropping it rolls back.
                if is_ok {
                    open.end();
                }
                Ok(())
            }
        }
    }
}

/// A write that has begun. Dropping it rolls back.
struct OpenWrite<'a> {
    engine: EngineWrite<'a>,
    _span: EnteredSpan,
}

enum EngineWrite<'a> {
    Sqlite(SqliteWrite<'a>),
    #[cfg(feature = "postgres")]
    Postgres(PostgresWrite<'a>),
}

impl<'a> OpenWrite<'a> {
    const fn change(&self) -> &WriteTx<'a> {
        match &self.engine {
            EngineWrite::Sqlite(open) => open.change(),
            #[cfg(feature = "postgres")]
            EngineWrite::Postgres(open) => open.change(),
        }
    }

    fn commit(self) -> Result<(), StoreError> {
        match self.engine {
            EngineWrite::Sqlite(open) => open.commit(),
            #[cfg(feature = "postgres")]
            EngineWrite::Postgres(open) => open.commit(),
        }
    }
}
