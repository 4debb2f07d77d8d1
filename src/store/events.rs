//! The event log as rows: numbered, append-only.

use rusqlite::Row;
use serde_json::Value;

use super::{ReadTx, StoreError, sql};
use crate::{
    domain::{EventKind, SessionId, TaskId},
    env::Timestamp,
};

/// An event of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    /// The sequence number. It grows by one and is never reused.
    pub seq: i64,
    /// The time of the change.
    pub at: Timestamp,
    /// The kind as text: an older binary may read the log of a newer one.
    pub kind: String,
    /// The task it is about.
    pub task: Option<String>,
    /// The session it is about, or the acting session.
    pub session: Option<String>,
    /// That session's run id.
    pub run_id: Option<String>,
    /// The lane it is about.
    pub lane: Option<String>,
    /// The actor.
    pub actor: String,
    /// The details: a JSON object.
    pub data: Value,
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT seq, at, kind, task_id, session_id, run_id, lane, actor, data FROM events ", $rest)
    };
}
const SINCE: &str = select!("WHERE seq > $1 ORDER BY seq");
const OF_TASK: &str = select!("WHERE task_id = $1 ORDER BY seq DESC");
const OF_SESSION: &str = select!("WHERE session_id = $1 ORDER BY seq DESC");
const NEWEST: &str = "SELECT coalesce(max(seq), 0) FROM events";

fn read(row: &Row<'_>) -> Result<LoggedEvent, StoreError> {
    let data: String = row.get(8)?;
    Ok(LoggedEvent {
        seq: row.get(0)?,
        at: Timestamp::from_millis(row.get(1)?),
        kind: row.get(2)?,
        task: row.get(3)?,
        session: row.get(4)?,
        run_id: row.get(5)?,
        lane: row.get(6)?,
        actor: row.get(7)?,
        data: serde_json::from_str(&data)
            .map_err(|_| StoreError::Unreadable { what: "an event's data", value: data.chars().take(64).collect() })?,
    })
}

/// Passes the events above a sequence number to `see`, in order, until `see` returns `false`.
///
/// # Errors
/// As the store fails.
pub fn for_each_since(
    tx: &ReadTx<'_>,
    seq: i64,
    mut see: impl FnMut(LoggedEvent) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    sql::for_each(tx.conn(), SINCE, &[&seq], |row| see(read(row)?))
}

/// The sequence number of the newest event; 0 if there is none.
///
/// # Errors
/// As the store fails.
pub fn last_seq(tx: &ReadTx<'_>) -> Result<i64, StoreError> {
    Ok(sql::first(tx.conn(), NEWEST, &[], |row| Ok(row.get(0)?))?.unwrap_or_default())
}

/// The newest state transition of a task.
///
/// # Errors
/// As the store fails.
pub fn newest_transition(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<LoggedEvent>, StoreError> {
    newest_of(tx, task, EventKind::is_transition)
}

/// The newest event of a task whose kind `matches_kind` accepts.
///
/// # Errors
/// As the store fails.
pub fn newest_of(
    tx: &ReadTx<'_>,
    task: &TaskId,
    matches_kind: fn(EventKind) -> bool,
) -> Result<Option<LoggedEvent>, StoreError> {
    newest_matching(tx, task, matches_kind, |_| true)
}

/// The newest event of a task whose kind `matches_kind` accepts and that `fits` accepts.
///
/// # Errors
/// As the store fails.
pub fn newest_matching(
    tx: &ReadTx<'_>,
    task: &TaskId,
    matches_kind: fn(EventKind) -> bool,
    fits: impl Fn(&LoggedEvent) -> bool,
) -> Result<Option<LoggedEvent>, StoreError> {
    newest_where(tx, OF_TASK, task.as_str(), matches_kind, fits)
}

/// The newest event of a session whose kind `matches_kind` accepts.
///
/// # Errors
/// As the store fails.
pub fn newest_of_session(
    tx: &ReadTx<'_>,
    session: &SessionId,
    matches_kind: fn(EventKind) -> bool,
) -> Result<Option<LoggedEvent>, StoreError> {
    newest_of_session_matching(tx, session, matches_kind, |_| true)
}

/// The newest event of a session whose kind `matches_kind` accepts and that `fits` accepts.
///
/// # Errors
/// As the store fails.
pub fn newest_of_session_matching(
    tx: &ReadTx<'_>,
    session: &SessionId,
    matches_kind: fn(EventKind) -> bool,
    fits: impl Fn(&LoggedEvent) -> bool,
) -> Result<Option<LoggedEvent>, StoreError> {
    newest_where(tx, OF_SESSION, session.as_str(), matches_kind, fits)
}

fn newest_where(
    tx: &ReadTx<'_>,
    query: &str,
    id: &str,
    matches_kind: fn(EventKind) -> bool,
    fits: impl Fn(&LoggedEvent) -> bool,
) -> Result<Option<LoggedEvent>, StoreError> {
    let mut newest = None;
    sql::for_each(tx.conn(), query, &[&id], |row| {
        let kind: String = row.get(2)?;
        if EventKind::parse(&kind).is_some_and(matches_kind) {
            newest = Some(read(row)?).filter(&fits);
        }
        Ok(newest.is_none())
    })?;
    Ok(newest)
}
