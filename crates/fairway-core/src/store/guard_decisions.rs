//! Decisions on tool calls as rows. They are a log; the guard never reads them.

use super::sql::columns::{columns, text};
use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx};
use crate::env::Timestamp;

/// How long a decision is kept, in milliseconds: 30 days.
const RETENTION_MS: i64 = 30 * 24 * 60 * 60 * 1000;

columns!(LoggedDecision {
    id, at;
    entry_point, session_id, run_id, role, tool, input, allowed, rule, reason, context,
});

macro_rules! select {
    ($rest:literal) => {
        text!("SELECT ", COLUMNS, " FROM guard_decisions ", $rest)
    };
}

const INSERT: &str =
    text!("INSERT INTO guard_decisions (", WRITTEN, ", at) VALUES (", PLACEHOLDERS, ", $11) RETURNING id");
const DELETE_OLD: &str = "DELETE FROM guard_decisions WHERE id IN \
     (SELECT id FROM guard_decisions INDEXED BY guard_decisions_at WHERE at < $1 ORDER BY at LIMIT 20)";
const NEWEST: &str = select!("WHERE allowed <= $2 ORDER BY id DESC LIMIT $1");
const OF_SESSION: &str = select!(
    "INDEXED BY guard_decisions_session WHERE session_id IS NOT NULL AND session_id = $3 AND allowed <= $2 \
     ORDER BY id DESC LIMIT $1"
);

const RECORDED: &str = "SELECT 1 FROM guard_decisions INDEXED BY guard_decisions_session \
     WHERE session_id IS NOT NULL AND session_id = $1 AND run_id = $2 AND at >= $3 AND tool = $4 AND input = $5 \
     AND allowed = $6 AND rule IS NOT DISTINCT FROM $7 AND reason = $8 \
     AND (context IS NULL OR CAST($9 AS TEXT) IS NULL OR context = $9) LIMIT 1";

/// A decision, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedDecision {
    /// The row id, set by the store.
    pub id: i64,
    /// The time, set by the store.
    pub at: Timestamp,
    /// `hook`, `api` or `cli`.
    pub entry_point: String,
    pub session_id: Option<String>,
    pub run_id: Option<String>,
    pub role: Option<String>,
    pub tool: String,
    /// The tool's input, masked and shortened.
    pub input: String,
    pub allowed: bool,
    pub rule: Option<String>,
    pub reason: String,
    /// The caller's own facts about the call: a JSON object.
    pub context: Option<String>,
}

/// Inserts a decision and returns its id. Also deletes some of the decisions that are older than 30 days.
pub fn insert(tx: &WriteTx<'_>, decision: &LoggedDecision) -> Result<i64, StoreError> {
    sql::execute(tx.conn(), DELETE_OLD, &[&(tx.now().millis() - RETENTION_MS)])?;
    let mut values = values(decision);
    let at = tx.now();
    values.push(&at);
    let id = sql::first(tx.conn(), INSERT, &values, |row| row.get(0))?;
    Ok(id.unwrap_or_default())
}

/// Whether the same decision about the same call has been recorded for the session run since the time `since`.
pub fn is_recorded(tx: &ReadTx<'_>, decision: &LoggedDecision, since: Timestamp) -> Result<bool, StoreError> {
    let found = sql::first(
        tx.conn(),
        RECORDED,
        &[
            &decision.session_id, &decision.run_id, &since, &decision.tool, &decision.input, &decision.allowed,
            &decision.rule, &decision.reason, &decision.context,
        ],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// The newest decisions, newest first, at most `limit`: of one session or of all; only denials when `denied`.
pub fn newest(
    tx: &ReadTx<'_>,
    session: Option<&str>,
    denied: bool,
    limit: i64,
) -> Result<Vec<LoggedDecision>, StoreError> {
    let most = i64::from(!denied);
    match session {
        Some(session) => sql::rows(tx.conn(), OF_SESSION, &[&limit, &most, &session], read),
        None => sql::rows(tx.conn(), NEWEST, &[&limit, &most], read),
    }
}
