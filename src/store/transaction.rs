//! Transactions: what a read may see and a write may do.

use std::ops::Deref;

use rusqlite::{Connection, Transaction};

use super::{StoreError, events};
use crate::{domain::Event, env::Timestamp};

/// One snapshot of the store.
#[derive(Debug)]
pub struct ReadTx<'a> {
    conn: &'a Connection,
}

impl<'a> ReadTx<'a> {
    pub(super) fn new(tx: &'a Transaction<'_>) -> Self {
        Self { conn: tx }
    }

    /// A file that nobody else has: no snapshot is needed.
    pub(super) const fn from_connection(conn: &'a Connection) -> Self {
        Self { conn }
    }

    pub(super) const fn conn(&self) -> &Connection {
        self.conn
    }
}

/// A right to write that is not used, and given back with this value. What it costs counts: it is asked for at every tool
/// call.
#[derive(Debug)]
pub(super) struct ScratchTx<'a> {
    conn: &'a Connection,
}

impl<'a> ScratchTx<'a> {
    pub(super) fn begin(conn: &'a Connection) -> Result<Self, StoreError> {
        conn.prepare_cached("BEGIN IMMEDIATE")?.raw_execute()?;
        Ok(Self { conn })
    }

    pub(super) const fn read(&self) -> ReadTx<'a> {
        ReadTx::from_connection(self.conn)
    }
}

impl Drop for ScratchTx<'_> {
    fn drop(&mut self) {
        // There is nothing to take back that could fail.
        let _ = self.conn.prepare_cached("ROLLBACK").and_then(|mut rollback| rollback.raw_execute());
    }
}

/// One IMMEDIATE transaction. It comes only from [`super::Store::write`] and is committed there.
#[derive(Debug)]
pub struct WriteTx<'a> {
    read: ReadTx<'a>,
    now: Timestamp,
    actor: &'a str,
}

impl<'a> WriteTx<'a> {
    pub(super) fn new(tx: &'a Transaction<'_>, now: Timestamp, actor: &'a str) -> Self {
        Self { read: ReadTx::new(tx), now, actor }
    }

    /// The time of this change.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Who makes this change.
    #[must_use]
    pub const fn actor(&self) -> &str {
        self.actor
    }

    /// Adds an event to the log, in this transaction.
    ///
    /// # Errors
    /// As the store fails.
    pub fn record(&self, event: &Event) -> Result<i64, StoreError> {
        events::append(self, event)
    }
}

impl<'a> Deref for WriteTx<'a> {
    type Target = ReadTx<'a>;

    fn deref(&self) -> &Self::Target {
        &self.read
    }
}
