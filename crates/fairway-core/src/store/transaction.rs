//! Transactions: a read snapshot and a write with its events.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Deref;

use serde::Serialize;
use serde_json::{Map, Value};

use super::StoreError;
use super::progress::Progress;
use super::sql::{self, Connection, Statement, json_of, json_rows};
use crate::domain::event::EventValue;
use crate::domain::{Event, EventKind, LaneName, SessionId, TaskId};
use crate::env::Timestamp;

// An event without a session belongs to the acting session, if the actor is one.
const APPEND: &str = "INSERT INTO events (at, kind, task_id, session_id, run_id, lane, actor, data) \
     VALUES ($1, $2, $3, \
         coalesce($4, (SELECT id FROM agent_sessions WHERE id = $7)), \
         coalesce($5, (SELECT run_id FROM agent_sessions WHERE id = coalesce($4, $7))), $6, $7, $8) RETURNING seq";

const APPEND_ALL: Statement<'_> = json_rows!(
    "INSERT INTO events (at, kind, task_id, session_id, run_id, lane, actor, data) \
     SELECT $2, value ->> 0, value ->> 1, (SELECT id FROM agent_sessions WHERE id = $3), \
         (SELECT run_id FROM agent_sessions WHERE id = $3), value ->> 2, $3, value ->> 3 FROM ",
    " RETURNING seq"
);
/// How many events one statement adds.
const AT_ONCE: usize = 500;

/// One snapshot of the store.
#[derive(Debug)]
pub struct ReadTx<'a> {
    conn: Connection<'a>,
}

impl<'a> ReadTx<'a> {
    /// Reads through a connection as it is, without beginning a transaction. The caller has one open, or no other process uses
    /// the file.
    pub(super) fn from_connection(conn: impl Into<Connection<'a>>) -> Self {
        Self { conn: conn.into() }
    }

    pub(super) const fn conn(&self) -> Connection<'a> {
        self.conn
    }
}

/// A write transaction of SQLite that only reads; dropping it rolls back. It must be cheap: every tool call begins one.
#[derive(Debug)]
pub(super) struct ScratchTx<'a> {
    conn: &'a rusqlite::Connection,
}

impl<'a> ScratchTx<'a> {
    pub(super) fn begin(conn: &'a rusqlite::Connection) -> Result<Self, StoreError> {
        conn.prepare_cached("BEGIN IMMEDIATE")?.raw_execute()?;
        Ok(Self { conn })
    }

    pub(super) fn read(&self) -> ReadTx<'a> {
        ReadTx::from_connection(self.conn)
    }
}

impl Drop for ScratchTx<'_> {
    fn drop(&mut self) {
        // Nothing was written, so a failed rollback loses nothing.
        let _ = self.conn.prepare_cached("ROLLBACK").and_then(|mut rollback| rollback.raw_execute());
    }
}

/// One transaction that excludes every other write. Only [`super::Store::write`] creates and commits it.
#[derive(Debug)]
pub struct WriteTx<'a> {
    read: ReadTx<'a>,
    now: Timestamp,
    actor: &'a str,
    /// The newest event and the task ids that this transaction gave out.
    progress: RefCell<Progress>,
    mailed: RefCell<BTreeSet<SessionId>>,
}

impl<'a> WriteTx<'a> {
    pub(super) fn new(conn: impl Into<Connection<'a>>, now: Timestamp, actor: &'a str) -> Self {
        Self {
            read: ReadTx::from_connection(conn),
            now,
            actor,
            progress: RefCell::default(),
            mailed: RefCell::default(),
        }
    }

    /// The newest event and the task ids that this transaction gave out.
    pub(super) fn into_progress(self) -> Progress {
        self.progress.into_inner()
    }

    /// The registered sessions for which this transaction has queued messages.
    pub fn mailed(&self) -> BTreeSet<SessionId> {
        self.mailed.borrow().clone()
    }

    /// The time of this transaction, which all of its records get.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The actor of this transaction, whom its events name.
    pub const fn actor(&self) -> &str {
        self.actor
    }

    /// Adds an event to the log, in this transaction. Returns its sequence number.
    pub fn record(&self, event: &Event) -> Result<i64, StoreError> {
        let seq = sql::first(
            self.conn(),
            APPEND,
            &[
                &self.now().millis(),
                &event.kind.as_str(),
                &event.task,
                &event.session,
                &event.run_id,
                &event.lane,
                &self.actor(),
                &data_of(event).to_string(),
            ],
            |row| row.get(0),
        )?;
        let seq = seq.unwrap_or_default();
        self.note_progress(seq, event);
        Ok(seq)
    }

    /// Adds events about tasks to the log, in this order. The events must not name a session: the store adds the session that
    /// acts.
    pub fn record_all(&self, events: &[Event]) -> Result<(), StoreError> {
        for events in events.chunks(AT_ONCE) {
            let rows = events.iter().map(event_row).collect::<Result<Vec<_>, StoreError>>()?;
            let (at, rows) = (self.now().millis(), json_of(&rows)?);
            let numbers = sql::rows(self.conn(), APPEND_ALL, &[&rows, &at, &self.actor()], |row| row.get::<i64>(0))?;
            let newest = numbers.into_iter().max().unwrap_or_default();
            for event in events {
                self.note_progress(newest, event);
            }
        }
        Ok(())
    }

    fn note_progress(&self, seq: i64, event: &Event) {
        let mut progress = self.progress.borrow_mut();
        progress.event = seq;
        if let (EventKind::TaskAdded | EventKind::TaskImported, Some(task)) = (event.kind, &event.task) {
            progress.add_task(task);
        }
        if let (EventKind::MessageQueued, Some(session)) = (event.kind, &event.session) {
            self.mailed.borrow_mut().insert(session.clone());
        }
    }
}

/// The columns of an event that differ from those of the others that are written at once.
fn event_row(event: &Event) -> Result<impl Serialize, StoreError> {
    let (task, lane) = (event.task.as_ref().map(TaskId::as_str), event.lane.as_ref().map(LaneName::as_str));
    Ok((event.kind.as_str(), task, lane, json_of(&data_of(event))?))
}

/// The data of an event as a JSON object.
fn data_of(event: &Event) -> Value {
    let mut data = Map::new();
    for (key, fact) in &event.data {
        let value = match fact {
            EventValue::Null => Value::Null,
            EventValue::Number(number) => Value::from(*number),
            EventValue::Bool(flag) => Value::from(*flag),
            EventValue::Text(text) => Value::from(text.as_str()),
            EventValue::Texts(texts) => Value::from(texts.clone()),
        };
        data.insert((*key).to_owned(), value);
    }
    Value::Object(data)
}

impl<'a> Deref for WriteTx<'a> {
    type Target = ReadTx<'a>;

    fn deref(&self) -> &Self::Target {
        &self.read
    }
}
