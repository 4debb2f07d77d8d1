//! Turns and tool calls that sessions report, as rows, append-only. Role, lane and task are the session's at the time of the
//! report.

use std::collections::BTreeMap;

use super::{ReadTx, StoreError, WriteTx, sql};
use crate::domain::SessionId;
use crate::domain::budget::{Amount, BudgetKind, Used};
use crate::domain::session::Session;
use crate::domain::usage::{ToolUse, Usage, UsageBy};
use crate::env::Timestamp;

/// The statements that group a table by a key: for all sessions, and for one. The key comes first, as text.
macro_rules! sums {
    ($by:expr, $table:literal, $sums:literal) => {
        match $by {
            UsageBy::Session => sums!(@both $table, $sums, "session_id"),
            UsageBy::Lane => sums!(@both $table, $sums, "lane"),
            UsageBy::Task => sums!(@both $table, $sums, "task_id"),
            UsageBy::Role => sums!(@both $table, $sums, "role"),
            UsageBy::Model => sums!(@both $table, $sums, "model"),
            UsageBy::Day => sums!(@both $table, $sums, "at / 86400000"),
        }
    };
    (@both $table:literal, $sums:literal, $key:literal) => {
        [
            sums!(@one $table, $sums, $key, "_at WHERE at >= $1"),
            sums!(@one $table, $sums, $key, "_session WHERE session_id = $2 AND at >= $1"),
        ]
    };
    (@one $table:literal, $sums:literal, $key:literal, $which:literal) => {
        concat!(
            "SELECT CAST(", $key, " AS TEXT), ", $sums, " FROM ", $table, " INDEXED BY ", $table, $which, " GROUP BY ", $key
        )
    };
}

/// The sums since a time, of one session or of all. A day is the number of days since 1970.
fn read_sums<T>(
    tx: &ReadTx<'_>,
    [all, one]: [&'static str; 2],
    since: Timestamp,
    session: Option<&SessionId>,
    row: impl FnMut(&sql::Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let query = if session.is_some() { one } else { all };
    sql::rows(tx.conn(), query, &[&since, &session], row)
}

/// A sum over turns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TurnTotals {
    /// The group's key; `None` for rows without one.
    pub key: Option<String>,
    /// The number of turns.
    pub turns: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// Tokens read from the provider's cache.
    pub cache_read_tokens: i64,
    /// Tokens written to the provider's cache.
    pub cache_creation_tokens: i64,
    /// The sum of the known costs in US dollars; `None` if no cost is known.
    pub cost_usd: Option<f64>,
    /// The number of turns without a cost.
    pub turns_without_cost: i64,
}

const INSERT_TURN: &str = "INSERT INTO usage_turns (run_id, session_id, role, lane, task_id, at, digest, model, input_tokens, \
     output_tokens, cache_read_tokens, cache_creation_tokens, cost_usd) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (run_id, digest) DO NOTHING";

const UPDATE_TURN: &str = "UPDATE usage_turns SET at = $3, model = coalesce($4, model), input_tokens = $5, output_tokens = $6, \
     cache_read_tokens = $7, cache_creation_tokens = $8, cost_usd = coalesce($9, cost_usd) \
     WHERE run_id = $1 AND digest = $2 AND output_tokens < $6";

/// Sums by a key. Costs are whole billionths of a dollar: their sum does not depend on the order.
macro_rules! used {
    ($key:literal, $which:literal) => {
        concat!(
            "SELECT ",
            $key,
            ", CAST(sum(CAST(round(cost_usd * 1000000000) AS BIGINT)) AS BIGINT), count(*) - count(cost_usd), count(*), \
             CAST(coalesce(sum(input_tokens + output_tokens + cache_read_tokens + cache_creation_tokens), 0) AS BIGINT) \
             FROM usage_turns INDEXED BY usage_turns_",
            $which
        )
    };
}
const COSTS: &str = used!("session_id, lane", "at WHERE at >= $1 GROUP BY session_id, lane");
const COSTS_OF_SESSION: &str =
    used!("session_id, lane", "session WHERE session_id = $2 AND at >= $1 GROUP BY session_id, lane");

/// Adds a turn of a session, unless a turn with this digest is already stored for the session run. Returns whether it was new.
pub fn insert_turn(
    tx: &WriteTx<'_>,
    session: &Session,
    at: Timestamp,
    digest: &str,
    usage: &Usage,
) -> Result<bool, StoreError> {
    let added = sql::execute(
        tx.conn(),
        INSERT_TURN,
        &[
            &session.run_id,
            &session.id,
            &session.role,
            &session.lane,
            &session.task,
            &at,
            &digest,
            &usage.model,
            &count(usage.input_tokens),
            &count(usage.output_tokens),
            &count(usage.cache_read_tokens),
            &count(usage.cache_creation_tokens),
            &usage.cost_usd,
        ],
    )?;
    Ok(added == 1)
}

/// Updates a stored turn from a newer report of the same turn.
pub fn update_turn(
    tx: &WriteTx<'_>,
    session: &Session,
    at: Timestamp,
    digest: &str,
    usage: &Usage,
) -> Result<(), StoreError> {
    sql::execute(
        tx.conn(),
        UPDATE_TURN,
        &[
            &session.run_id,
            &digest,
            &at,
            &usage.model,
            &count(usage.input_tokens),
            &count(usage.output_tokens),
            &count(usage.cache_read_tokens),
            &count(usage.cache_creation_tokens),
            &usage.cost_usd,
        ],
    )?;
    Ok(())
}

/// A number of tokens as a column value. Implausible numbers were refused before.
fn count(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

/// The cost of the turns of a session in a lane, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownCost {
    pub session: String,
    /// The session's lane at that time.
    pub lane: Option<String>,
    /// The cost in billionths of a US dollar; `None` when no turn has one.
    pub nano_usd: Option<i64>,
    pub turns_without_cost: i64,
}

/// The known costs of the turns since `since`, of one session or of all.
pub fn known_costs(
    tx: &ReadTx<'_>,
    since: Timestamp,
    session: Option<&SessionId>,
) -> Result<Vec<KnownCost>, StoreError> {
    let query = if session.is_some() { COSTS_OF_SESSION } else { COSTS };
    sql::rows(tx.conn(), query, &[&since, &session], |row| {
        Ok(KnownCost {
            session: row.get(0)?,
            lane: row.get(1)?,
            nano_usd: row.get(2)?,
            turns_without_cost: row.get(3)?,
        })
    })
}

const USED_BY_TASKS: &str = used!(
    "task_id",
    "task WHERE task_id IN (SELECT id FROM tasks WHERE closed_at IS NULL) AND at >= $1 GROUP BY task_id"
);
const USED_BY_SESSIONS: &str = used!(
    "session_id",
    "session WHERE session_id IN (SELECT id FROM agent_sessions INDEXED BY agent_sessions_live \
     WHERE ended_at IS NULL) AND at >= $1 GROUP BY session_id"
);
const USED_BY_ALL: &str = used!("CAST(NULL AS TEXT)", "at WHERE at >= $1");
const RAISED: &str = "SELECT subject, cap FROM raised_budgets WHERE kind = $1";
const RAISE: &str = "INSERT INTO raised_budgets (kind, subject, cap) VALUES ($1, $2, $3) \
     ON CONFLICT (kind, subject) DO UPDATE SET cap = excluded.cap";

/// What was used since `since`: by each open task, by each live session, or by all, whose key is `None`.
pub fn used(tx: &ReadTx<'_>, kind: BudgetKind, since: Timestamp) -> Result<Vec<(Option<String>, Used)>, StoreError> {
    let query = match kind {
        BudgetKind::Task => USED_BY_TASKS,
        BudgetKind::Session => USED_BY_SESSIONS,
        BudgetKind::Day => USED_BY_ALL,
    };
    sql::rows(tx.conn(), query, &[&since], |row| {
        let nano_usd = row.get::<Option<i64>>(1)?.unwrap_or_default();
        let used = Used { nano_usd, turns_without_cost: row.get(2)?, turns: row.get(3)?, tokens: row.get(4)? };
        Ok((row.get(0)?, used))
    })
}

/// The caps that a person has given subjects in place of the configured one.
pub fn raised_caps(tx: &ReadTx<'_>, kind: BudgetKind) -> Result<BTreeMap<String, Amount>, StoreError> {
    let rows = sql::rows(tx.conn(), RAISED, &[&kind.as_str()], |row| Ok((row.get(0)?, row.get::<String>(1)?)))?;
    Ok(rows.into_iter().filter_map(|(subject, cap)| Some((subject, Amount::parse(&cap).ok()?))).collect())
}

pub fn raise_cap(tx: &WriteTx<'_>, kind: BudgetKind, subject: &str, cap: Amount) -> Result<(), StoreError> {
    sql::execute(tx.conn(), RAISE, &[&kind.as_str(), &subject, &cap.to_string()]).map(drop)
}

/// The sums of the turns since `since`, of one session or of all, in the groups that `by` names. A group of a day has as its key
/// the number of days since 1970.
pub fn turn_totals(
    tx: &ReadTx<'_>,
    by: UsageBy,
    since: Timestamp,
    session: Option<&SessionId>,
) -> Result<Vec<TurnTotals>, StoreError> {
    let statements = sums!(
        by,
        "usage_turns",
        "count(*), CAST(sum(input_tokens) AS BIGINT), CAST(sum(output_tokens) AS BIGINT), \
             CAST(sum(cache_read_tokens) AS BIGINT), CAST(sum(cache_creation_tokens) AS BIGINT), sum(cost_usd), \
             count(*) - count(cost_usd)"
    );
    read_sums(tx, statements, since, session, |row| {
        Ok(TurnTotals {
            key: row.get(0)?,
            turns: row.get(1)?,
            input_tokens: row.get(2)?,
            output_tokens: row.get(3)?,
            cache_read_tokens: row.get(4)?,
            cache_creation_tokens: row.get(5)?,
            cost_usd: row.get(6)?,
            turns_without_cost: row.get(7)?,
        })
    })
}

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

const INSERT_TOOL_CALL: &str = "INSERT INTO tool_calls (run_id, session_id, role, lane, task_id, at, digest, model, name, success, \
     duration_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (run_id, digest) DO NOTHING";

/// Adds a session's tool call, with its model if known, unless a call with this digest is already stored for the session run.
/// Returns whether it was new.
pub fn insert_tool_call(
    tx: &WriteTx<'_>,
    session: &Session,
    at: Timestamp,
    digest: &str,
    model: Option<&str>,
    tool: &ToolUse,
) -> Result<bool, StoreError> {
    let added = sql::execute(
        tx.conn(),
        INSERT_TOOL_CALL,
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

/// The sums of the tool calls since `since`, of one session or of all, in the groups that `by` names. A group of a day has as its
/// key the number of days since 1970.
pub fn tool_call_totals(
    tx: &ReadTx<'_>,
    by: UsageBy,
    since: Timestamp,
    session: Option<&SessionId>,
) -> Result<Vec<ToolCallTotals>, StoreError> {
    let statements = sums!(by, "tool_calls", "count(*), count(*) FILTER (WHERE success = 0)");
    read_sums(tx, statements, since, session, |row| {
        Ok(ToolCallTotals { key: row.get(0)?, calls: row.get(1)?, failures: row.get(2)? })
    })
}
