//! Tool calls as rows, append-only. Role, lane and task are the session's at the time of the report.

use super::{
    ReadTx, StoreError, WriteTx,
    report_sums::{self, sums},
    sql,
};
use crate::{
    domain::{
        SessionId,
        session::Session,
        usage::{ToolUse, UsageBy},
    },
    env::Timestamp,
};

/// A sum over calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCallTotals {
    /// The group's key; `None` for rows without one.
    pub key: Option<String>,
    /// The number of calls.
    pub calls: i64,
    /// The number of failed calls.
    pub failures: i64,
}

const INSERT: &str = "INSERT INTO tool_calls (run_id, session_id, role, lane, task_id, at, digest, model, name, success, \
     duration_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (run_id, digest) DO NOTHING";

/// Adds a session's tool call, with its model if known, unless its session run has one of this digest. Returns whether it
/// was new.
pub fn insert(
    tx: &WriteTx<'_>,
    session: &Session,
    at: Timestamp,
    digest: &str,
    model: Option<&str>,
    tool: &ToolUse,
) -> Result<bool, StoreError> {
    let added = sql::execute(
        tx.conn(),
        INSERT,
        &[
            &session.run_id,
            &session.id,
            &session.role,
            &session.lane,
            &session.task,
            &at,
            &digest,
            &model,
            &tool.name,
            &tool.success,
            &tool.duration_ms.map(|span| i64::try_from(span).unwrap_or(i64::MAX)),
        ],
    )?;
    Ok(added == 1)
}

/// The sums of the calls since a time, of one session or of all. A day is the number of days since 1970.
pub fn totals(
    tx: &ReadTx<'_>,
    by: UsageBy,
    since: Timestamp,
    session: Option<&SessionId>,
) -> Result<Vec<ToolCallTotals>, StoreError> {
    let statements = sums!(by, "tool_calls", "count(*), count(*) FILTER (WHERE success = 0)");
    report_sums::read(tx, statements, since, session, |row| {
        Ok(ToolCallTotals { key: row.get(0)?, calls: row.get(1)?, failures: row.get(2)? })
    })
}
