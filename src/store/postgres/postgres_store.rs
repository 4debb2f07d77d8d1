//! Transactions on a server.

use std::time::Duration;

use super::{StoreAddress, connect, schema};
use crate::{
    env::{Clock, Timestamp},
    store::{ReadTx, StoreError, WriteTx, schema::STATE, sql::PostgresConnection},
};

/// One snapshot for all statements of a read.
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
/// Under READ COMMITTED each statement sees what was committed before it began. A snapshot of the whole transaction would be
/// older than the lock that it waits for, and would show tasks as free that the process before has claimed.
const BEGIN_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE";
const VERSION: &str = "SELECT schema_version FROM project";
// A time in the list of the locking statement would be that before the wait, so it is a statement of its own.
const LOCK: &str = "SELECT schema_version FROM project FOR UPDATE";
const CLOCK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// An open store on a server.
#[derive(Debug)]
pub(in crate::store) struct PostgresStore {
    connection: PostgresConnection,
    address: StoreAddress,
    clock: Clock,
}

impl PostgresStore {
    /// Connects to the store of a project.
    ///
    /// # Errors
    /// When the server cannot be reached or used.
    pub fn open(address: &StoreAddress, clock: Clock) -> Result<Self, StoreError> {
        let connection = connect::connect(address)?;
        Ok(Self { connection, address: address.clone(), clock })
    }

    /// Creates the store of a project, or brings it up to date.
    ///
    /// # Errors
    /// When the server cannot be reached or used, or the schema not be made.
    pub fn migrate(address: &StoreAddress) -> Result<(), StoreError> {
        schema::migrate(&connect::connect(address)?, address)
    }

    /// Runs `query` on one snapshot.
    pub fn read<T, E: From<StoreError>>(&self, query: impl FnOnce(&ReadTx<'_>) -> Result<T, E>) -> Result<T, E> {
        let (open, version) = self.begin(&format!("{BEGIN_READ}; {}; {VERSION}", self.search_path()))?;
        self.check_version(version)?;
        let found = query(&ReadTx::from_connection(&self.connection))?;
        open.end("COMMIT")?;
        Ok(found)
    }

    /// Runs `query` if the server can be written. Takes no lock.
    pub fn read_if_writable<T, E: From<StoreError>>(
        &self,
        query: impl FnOnce(&ReadTx<'_>) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        const WRITABLE: &str =
            "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean";
        let rows = self.connection.batch(WRITABLE)?;
        if rows.first().and_then(|row| row.get(0)) != Some("f") {
            return Err(StoreError::ReadOnly { dir: None, why: "the server allows only reading".into() }.into());
        }
        self.read(query).map(Some)
    }

    /// Runs `change` as one transaction and commits it if `change` returns `Ok`.
    pub fn write<T, E: From<StoreError>>(
        &self,
        now: Timestamp,
        actor: &str,
        change: impl FnOnce(&WriteTx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let begin = format!("{BEGIN_WRITE}; {}; {LOCK}; SELECT begin_write(); {CLOCK}", self.search_path());
        let (open, version) = self.begin(&begin)?;
        self.check_version(version)?;
        let now = match self.clock {
            Clock::Fixed(_) => now,
            Clock::System => Timestamp::from_millis(open.last),
        };
        let done = change(&WriteTx::new(&self.connection, now, actor))?;
        open.end("SELECT end_write(); COMMIT")?;
        Ok(done)
    }

    /// Sets how long later calls wait for other processes; `None` restores the default.
    pub fn set_lock_timeout(&self, timeout: Option<Duration>) -> Result<(), StoreError> {
        // Zero would mean: without end.
        let set = timeout.map_or_else(
            || "RESET lock_timeout".into(),
            |timeout| format!("SET lock_timeout = {}", timeout.as_millis().max(1)),
        );
        self.connection.batch(&set).map(drop)
    }

    /// The address, without a password.
    pub const fn address(&self) -> &StoreAddress {
        &self.address
    }

    /// The connection.
    pub const fn connection(&self) -> &PostgresConnection {
        &self.connection
    }

    fn search_path(&self) -> String {
        format!("SET LOCAL search_path TO \"{}\"", self.address.schema)
    }

    /// Begins a transaction; returns the version of the schema too, the first answer.
    fn begin(&self, statements: &str) -> Result<(OpenTransaction<'_>, i64), StoreError> {
        let mut open = OpenTransaction { connection: &self.connection, last: 0, is_open: true };
        let rows = self.connection.batch(statements).map_err(|error| match error {
            StoreError::NotThere { .. } => StoreError::NotThere { address: self.address.to_string() },
            other => other,
        })?;
        let number = |row: Option<&postgres::SimpleQueryRow>| row.and_then(|row| row.get(0)?.parse().ok()).unwrap_or(0);
        open.last = number(rows.last());
        Ok((open, number(rows.first())))
    }

    fn check_version(&self, found: i64) -> Result<(), StoreError> {
        let known = STATE.newest;
        match found {
            _ if found == known => Ok(()),
            _ if found > known => Err(StoreError::Newer { path: self.address.to_string().into(), found, known }),
            _ => Err(StoreError::Older { address: self.address.to_string(), found, known }),
        }
    }
}

/// A transaction that rolls back when it is dropped before its end.
struct OpenTransaction<'a> {
    connection: &'a PostgresConnection,
    /// The last answer to its beginning.
    last: i64,
    is_open: bool,
}

impl OpenTransaction<'_> {
    fn end(mut self, statements: &str) -> Result<(), StoreError> {
        self.connection.batch(statements)?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for OpenTransaction<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // A server that does not answer rolls back itself when the connection ends.
            let _ = self.connection.batch("ROLLBACK");
        }
    }
}
