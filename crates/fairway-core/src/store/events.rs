//! The event log as rows: numbered, append-only.

use serde_json::Value;

use super::sql::{self, Row};
use super::{ReadTx, StoreError};
use crate::domain::{EventKind, EventKindPattern, LaneName, SessionId, TaskId};
use crate::env::Timestamp;

#[derive(Debug, Clone, PartialEq)]
pub struct LoggedEvent {
    /// The sequence number. It grows by one and is never reused.
    pub seq: i64,
    pub at: Timestamp,
    /// The kind as text: an older binary may read the log of a newer one.
    pub kind: String,
    pub task: Option<String>,
    /// The session it is about, or the acting session.
    pub session: Option<String>,
    pub run_id: Option<String>,
    pub lane: Option<String>,
    pub actor: String,
    /// The details: a JSON object.
    pub data: Value,
}

macro_rules! select {
    ($rest:expr) => {
        concat!("SELECT seq, at, kind, task_id, session_id, run_id, lane, actor, data FROM events ", $rest)
    };
}
const SINCE: &str = select!("WHERE seq > $1 ORDER BY seq");
/// The statements of one scope, oldest first and newest first: `$1` is the sequence number before, `$2` the earliest time,
/// `$3` the id.
macro_rules! scope {
    ($where:literal) => {
        [
            select!(concat!($where, " seq > $1 AND at >= $2 ORDER BY seq")),
            select!(concat!($where, " seq > $1 AND at >= $2 ORDER BY seq DESC")),
        ]
    };
}
const MATCHING: [&str; 2] = scope!("WHERE");
const MATCHING_TASK: [&str; 2] = scope!("WHERE task_id = $3 AND");
const MATCHING_SESSION: [&str; 2] = scope!("WHERE session_id = $3 AND");
const MATCHING_LANE: [&str; 2] = scope!("WHERE lane = $3 AND");
const OF_TASK: &str = select!("WHERE task_id = $1 ORDER BY seq DESC");
const OF_SESSION: &str = select!("WHERE session_id = $1 ORDER BY seq DESC");
const TIME: &str = "SELECT at FROM events WHERE seq = $1";
const SUBJECTS: &str = "SELECT seq, kind, task_id, session_id FROM events WHERE seq > $1 ORDER BY seq LIMIT $2";
const NEWEST: &str = "SELECT coalesce(max(seq), 0) FROM events";

fn read(row: &Row<'_>) -> Result<LoggedEvent, StoreError> {
    let data: String = row.get(8)?;
    Ok(LoggedEvent {
        seq: row.get(0)?,
        at: row.get(1)?,
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

/// The events to read. An absent condition holds for every event.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    pub task: Option<TaskId>,
    /// Only events about or by this session.
    pub session: Option<SessionId>,
    pub lane: Option<LaneName>,
    /// Only events of one of these kinds; empty for all kinds.
    pub kinds: Vec<EventKindPattern>,
    pub since: Option<Timestamp>,
}

impl EventFilter {
    /// The statements of the narrowest index, and the id that they need.
    fn statements(&self) -> ([&'static str; 2], &str) {
        match (&self.task, &self.session, &self.lane) {
            (Some(task), ..) => (MATCHING_TASK, task.as_str()),
            (None, Some(session), _) => (MATCHING_SESSION, session.as_str()),
            (None, None, Some(lane)) => (MATCHING_LANE, lane.as_str()),
            (None, None, None) => (MATCHING, ""),
        }
    }

    /// Whether a row fits. Its data is not parsed.
    fn matches(&self, row: &Row<'_>) -> Result<bool, StoreError> {
        let is = |column: usize, wanted: Option<&str>| -> Result<bool, StoreError> {
            let Some(wanted) = wanted else { return Ok(true) };
            Ok(row.get::<Option<String>>(column)?.as_deref() == Some(wanted))
        };
        let kind: String = row.get(2)?;
        Ok((self.kinds.is_empty() || self.kinds.iter().any(|pattern| pattern.matches(&kind)))
            && is(3, self.task.as_ref().map(TaskId::as_str))?
            && is(4, self.session.as_ref().map(SessionId::as_str))?
            && is(6, self.lane.as_ref().map(LaneName::as_str))?)
    }
}

/// Passes the matching events above the sequence number `after` to `see`, in order, until `see` returns `false`. Returns the
/// number of the last event that was compared with the filter, or `after` when there was none.
pub fn for_each_matching(
    tx: &ReadTx<'_>,
    filter: &EventFilter,
    after: i64,
    mut see: impl FnMut(LoggedEvent) -> Result<bool, StoreError>,
) -> Result<i64, StoreError> {
    let ([oldest_first, _], id) = filter.statements();
    let since = filter.since.map_or(i64::MIN, Timestamp::millis);
    let mut last = after;
    sql::for_each(tx.conn(), oldest_first, &[&after, &since, &id], |row| {
        last = row.get(0)?;
        if filter.matches(row)? { see(read(row)?) } else { Ok(true) }
    })?;
    Ok(last)
}

pub fn time(tx: &ReadTx<'_>, seq: i64) -> Result<Option<Timestamp>, StoreError> {
    sql::first(tx.conn(), TIME, &[&seq], |row| row.get::<Timestamp>(0))
}

/// The sequence number after which the newest `count` matching events begin. It is never below `after`.
pub fn tail_start(tx: &ReadTx<'_>, filter: &EventFilter, after: i64, count: usize) -> Result<i64, StoreError> {
    if count == 0 {
        return Ok(last_seq(tx)?.max(after));
    }
    let ([_, newest_first], id) = filter.statements();
    let since = filter.since.map_or(i64::MIN, Timestamp::millis);
    let (mut found, mut start) = (0, after);
    sql::for_each(tx.conn(), newest_first, &[&after, &since, &id], |row| {
        if filter.matches(row)? {
            found += 1;
            if found == count {
                start = row.get::<i64>(0)? - 1;
            }
        }
        Ok(found < count)
    })?;
    Ok(start)
}

/// Passes a task's events to `see`, newest first, until `see` returns `false`. Only events of a kind that `matches_kind` accepts
/// are passed.
pub fn for_each_of_task(
    tx: &ReadTx<'_>,
    task: &TaskId,
    matches_kind: fn(EventKind) -> bool,
    see: impl FnMut(LoggedEvent) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    for_each_newest_first(tx, OF_TASK, task.as_str(), matches_kind, see)
}

/// Passes a session's events to `see`, newest first, until `see` returns `false`. Only events of a kind that `matches_kind`
/// accepts are passed.
pub fn for_each_of_session(
    tx: &ReadTx<'_>,
    session: &SessionId,
    matches_kind: fn(EventKind) -> bool,
    see: impl FnMut(LoggedEvent) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    for_each_newest_first(tx, OF_SESSION, session.as_str(), matches_kind, see)
}

fn for_each_newest_first(
    tx: &ReadTx<'_>,
    query: &str,
    id: &str,
    matches_kind: fn(EventKind) -> bool,
    mut see: impl FnMut(LoggedEvent) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    sql::for_each(tx.conn(), query, &[&id], |row| {
        let kind: String = row.get(2)?;
        if EventKind::parse(&kind).is_some_and(matches_kind) { see(read(row)?) } else { Ok(true) }
    })
}

/// Passes the events above a sequence number to `see`, in order, until `see` returns `false`.
pub fn for_each_since(
    tx: &ReadTx<'_>,
    seq: i64,
    mut see: impl FnMut(LoggedEvent) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    sql::for_each(tx.conn(), SINCE, &[&seq], |row| see(read(row)?))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventSubjects {
    pub seq: i64,
    pub kind: String,
    pub task: Option<String>,
    /// The session it is about, or the acting session.
    pub session: Option<String>,
}

/// The subjects of the events above a sequence number, in order, at most `limit`.
pub fn subjects_since(tx: &ReadTx<'_>, seq: i64, limit: i64) -> Result<Vec<EventSubjects>, StoreError> {
    sql::rows(tx.conn(), SUBJECTS, &[&seq, &limit], |row| {
        Ok(EventSubjects { seq: row.get(0)?, kind: row.get(1)?, task: row.get(2)?, session: row.get(3)? })
    })
}

/// The sequence number of the newest event; 0 if there is none.
pub fn last_seq(tx: &ReadTx<'_>) -> Result<i64, StoreError> {
    Ok(sql::first(tx.conn(), NEWEST, &[], |row| row.get(0))?.unwrap_or_default())
}

/// The newest event that moved a task to another state; `None` when there is none.
pub fn newest_transition(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<LoggedEvent>, StoreError> {
    newest_of(tx, task, EventKind::is_transition)
}

/// A task's newest event of a kind that `matches_kind` accepts; `None` when there is none.
pub fn newest_of(
    tx: &ReadTx<'_>,
    task: &TaskId,
    matches_kind: fn(EventKind) -> bool,
) -> Result<Option<LoggedEvent>, StoreError> {
    newest_matching(tx, task, matches_kind, |_| true)
}

/// A task's newest event of a kind that `matches_kind` accepts and for which `fits` returns `true`; `None` when there is none.
pub fn newest_matching(
    tx: &ReadTx<'_>,
    task: &TaskId,
    matches_kind: fn(EventKind) -> bool,
    fits: impl Fn(&LoggedEvent) -> bool,
) -> Result<Option<LoggedEvent>, StoreError> {
    newest_where(tx, OF_TASK, task.as_str(), matches_kind, fits)
}

/// A session's newest event of a kind that `matches_kind` accepts; `None` when there is none.
pub fn newest_of_session(
    tx: &ReadTx<'_>,
    session: &SessionId,
    matches_kind: fn(EventKind) -> bool,
) -> Result<Option<LoggedEvent>, StoreError> {
    newest_of_session_matching(tx, session, matches_kind, |_| true)
}

/// A session's newest event of a kind that `matches_kind` accepts and for which `fits` returns `true`; `None` when there is none.
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
    for_each_newest_first(tx, query, id, matches_kind, |event| {
        newest = Some(event).filter(&fits);
        Ok(newest.is_none())
    })?;
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::open;

    #[test]
    fn filters_are_answered_from_their_indexes() {
        let conn = open::in_memory().unwrap();
        let scopes = [
            (MATCHING, "INTEGER PRIMARY KEY (rowid>?)"),
            (MATCHING_TASK, "events_task (task_id=? AND seq>?)"),
            (MATCHING_SESSION, "events_session (session_id=? AND seq>?)"),
            (MATCHING_LANE, "events_lane (lane=? AND seq>?)"),
        ];
        for (statements, index) in scopes {
            for query in statements {
                let explain = format!("EXPLAIN QUERY PLAN {query}");
                let plan = sql::rows(&conn, &explain, &[], |row| row.get::<String>(3)).unwrap().join("\n");
                assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{query}: {plan}");
            }
        }
    }
}
