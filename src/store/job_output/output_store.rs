//! The output store: one connection to `runs.db`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::{
    domain::{
        job::{ItemType, JobId},
        job_output::{Batch, Gap, NewItem, Totals, WatcherHit},
    },
    env::Timestamp,
    store::{
        StoreError, integrity,
        open::{self, prepare_close},
        schema, sql,
    },
};

const TOTALS: &str = "SELECT next_seq, stdout_bytes, stderr_bytes, dropped_bytes FROM exec_outputs WHERE run = $1";
const SET_TOTALS: &str = "INSERT INTO exec_outputs (run, next_seq, stdout_bytes, stderr_bytes) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (run) DO UPDATE SET next_seq = max(next_seq, $2), stdout_bytes = max(stdout_bytes, $3), \
     stderr_bytes = max(stderr_bytes, $4)";
const NEXT_SEQ: &str = "INSERT INTO exec_outputs (run, next_seq) VALUES ($1, 2) \
     ON CONFLICT (run) DO UPDATE SET next_seq = next_seq + 1 RETURNING next_seq - 1";
const INSERT_OUTPUT: &str = "INSERT INTO exec_run_items (run, seq, type, segment, start, length, origin, created_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (run, seq) DO NOTHING";
const INSERT_EVENT: &str = "INSERT INTO exec_run_items (run, seq, type, payload, meta, owes, created_at) \
     VALUES ($1, $2, 'event', $3, $4, $5, $6) ON CONFLICT (run, seq) DO NOTHING";
const DELETE_GAP_ITEM: &str = "DELETE FROM exec_run_items WHERE run = $1 \
     AND seq = (SELECT gap_seq FROM exec_outputs WHERE run = $1)";
/// The first segment holds the head of the output, which is kept.
const DELETE_OMITTED: &str = "DELETE FROM exec_run_items WHERE run = $1 AND seq BETWEEN $2 AND $3 \
     AND type <> 'event' AND segment > 0";
const SET_GAP: &str = "UPDATE exec_outputs SET dropped_bytes = $2, gap_seq = $3 WHERE run = $1";
const SET_MATCH_COUNT: &str = "UPDATE exec_watchers SET hits = max(hits, $3) WHERE run = $1 AND place = $2";
const DELETE_JOB: [&str; 3] = [
    "DELETE FROM exec_run_items WHERE run = $1",
    "DELETE FROM exec_watchers WHERE run = $1",
    "DELETE FROM exec_outputs WHERE run = $1",
];

/// The open output store: one connection, used by one thread.
#[derive(Debug)]
pub struct OutputStore {
    pub(super) conn: Connection,
    pub(super) path: PathBuf,
    /// Whether a WAL file existed before this process opened the file.
    wal_was_there: bool,
}

impl OutputStore {
    /// Opens the file for reading and writing, and creates it if it is missing. Any number of processes may do so at once.
    ///
    /// # Errors
    /// When the file cannot be used: newer, damaged, foreign, another user's, or on a network file system; when it cannot be
    /// created.
    pub fn open_for_writing(path: &Path) -> Result<Self, StoreError> {
        if open::is_absent(path)? {
            open::create(path, &schema::OUTPUT)?;
        }
        Self::open(path)
    }

    /// Opens the file for reading; `None` if it is missing: no job has printed anything.
    pub fn open_for_reading(path: &Path) -> Result<Option<Self>, StoreError> {
        if open::is_absent(path)? { Ok(None) } else { Self::open(path).map(Some) }
    }

    fn open(path: &Path) -> Result<Self, StoreError> {
        let wal_was_there = open::wal_size(path).is_some();
        let conn = open::open_existing(path, &schema::OUTPUT)?;
        Ok(Self { conn, path: path.to_path_buf(), wal_was_there })
    }

    /// Sets how long later calls wait for other processes; `None` restores the default. For callers that have other work
    /// and retry.
    pub fn set_busy_timeout(&self, timeout: Option<Duration>) -> Result<(), StoreError> {
        Ok(self.conn.busy_timeout(timeout.unwrap_or(open::BUSY_TIMEOUT))?)
    }

    /// Runs `change` as one IMMEDIATE transaction.
    pub(super) fn write<T>(&self, change: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let tx = Transaction::new_unchecked(&self.conn, TransactionBehavior::Immediate)?;
        let done = change(&tx).map_err(|error| error.with_path(&self.path))?;
        tx.commit()?;
        Ok(done)
    }

    /// Writes a batch of a job's output and of its watchers' matches, in one transaction. A repeated batch is written once.
    ///
    /// # Errors
    /// As the store fails; nothing of the batch is written then.
    pub fn apply(&self, job: &JobId, batch: &Batch, now: Timestamp) -> Result<(), StoreError> {
        self.write(|conn| {
            let values: &[&dyn sql::ToValue] =
                &[job.bytes(), &batch.next_seq, &batch.stdout_bytes, &batch.stderr_bytes];
            sql::execute(conn, SET_TOTALS, values)?;
            for item in &batch.items {
                insert_item(conn, job, item, now)?;
            }
            for WatcherHit { watcher, count } in &batch.hits {
                set_match_count(conn, job, *watcher, *count)?;
            }
            match &batch.gap {
                Some(gap) => record_gap(conn, job, gap, now),
                None => Ok(()),
            }
        })
    }

    /// Appends an event after the job's output; returns its sequence number. For processes other than the job's supervisor.
    /// `notification_key` marks the event as a pending notification.
    pub fn append_event(
        &self,
        job: &JobId,
        payload: &str,
        meta: &str,
        notification_key: Option<&str>,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        self.write(|conn| {
            let seq = sql::first(conn, NEXT_SEQ, &[job.bytes()], |row| row.get(0))?.unwrap_or_default();
            sql::execute(conn, INSERT_EVENT, &[job.bytes(), &seq, &payload, &meta, &notification_key, &now])?;
            Ok(seq)
        })
    }

    /// How much output a job has, and how much of it was dropped.
    pub fn totals(&self, job: &JobId) -> Result<Totals, StoreError> {
        let read = |row: &sql::Row<'_>| {
            Ok(Totals {
                next_seq: row.get(0)?,
                stdout_bytes: row.get(1)?,
                stderr_bytes: row.get(2)?,
                dropped_bytes: row.get(3)?,
            })
        };
        sql::first(&self.conn, TOTALS, &[job.bytes()], read)
            .map(Option::unwrap_or_default)
            .map_err(|error| error.with_path(&self.path))
    }

    /// The errors that SQLite's own checks find in the file. Empty if there are none.
    pub fn integrity_errors(&self) -> Result<Vec<String>, StoreError> {
        integrity::database_errors(&self.conn)
    }

    /// Deletes all rows of a job.
    pub fn delete_job(&self, job: &JobId) -> Result<(), StoreError> {
        self.write(|conn| {
            for statement in DELETE_JOB {
                sql::execute(conn, statement, &[job.bytes()])?;
            }
            Ok(())
        })
    }
}

fn insert_item(conn: &Connection, job: &JobId, item: &NewItem, now: Timestamp) -> Result<(), StoreError> {
    let now = now.millis();
    match item {
        NewItem::Output { seq, stream, segment, start, length, origin } => {
            let values: &[&dyn sql::ToValue] = &[job.bytes(), seq, &stream, segment, start, length, origin, &now];
            sql::execute(conn, INSERT_OUTPUT, values)
        }
        NewItem::Event { seq, payload, meta, notification_key } => {
            sql::execute(conn, INSERT_EVENT, &[job.bytes(), seq, payload, meta, notification_key, &now])
        }
    }
    .map(drop)
}

/// Replaces the dropped output items by one event that gives the number of dropped bytes.
fn record_gap(conn: &Connection, job: &JobId, gap: &Gap, now: Timestamp) -> Result<(), StoreError> {
    sql::execute(conn, DELETE_GAP_ITEM, &[job.bytes()])?;
    sql::execute(conn, DELETE_OMITTED, &[job.bytes(), &gap.first_seq, &gap.through_seq])?;
    let item = NewItem::Event {
        seq: gap.through_seq,
        payload: format!("{} bytes left out", gap.dropped_bytes),
        meta: format!("{{\"event\":\"gap\",\"bytes\":{}}}", gap.dropped_bytes),
        notification_key: None,
    };
    insert_item(conn, job, &item, now)?;
    sql::execute(conn, SET_GAP, &[job.bytes(), &gap.dropped_bytes, &gap.through_seq]).map(drop)
}

/// Sets how often a watcher has matched. The count never falls.
fn set_match_count(conn: &Connection, job: &JobId, watcher: usize, count: i64) -> Result<(), StoreError> {
    sql::execute(conn, SET_MATCH_COUNT, &[job.bytes(), &i64::try_from(watcher).unwrap_or(i64::MAX), &count]).map(drop)
}

/// Parses a stored item type.
pub(super) fn parse_item_type(text: &str) -> Result<ItemType, StoreError> {
    sql::parse_value("an item's type", text, ItemType::parse)
}

impl Drop for OutputStore {
    fn drop(&mut self) {
        prepare_close(&self.conn, &self.path, self.wal_was_there);
    }
}
