//! Lanes as rows.

use rusqlite::Row;

use super::{ReadTx, StoreError, WriteTx, sql};
use crate::{
    domain::{
        LaneName, Role,
        id::Label,
        lane::{Lane, LaneStatus},
    },
    env::Timestamp,
};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT name, title, role, status, branch, base, worktree, wip_limit, provider, backend, created_at, ",
            "made_worktree FROM lanes ",
            $rest
        )
    };
}

const ONE: &str = select!("WHERE name = $1");
const ALL: &str = select!("ORDER BY name");
const UPSERT: &str = "INSERT INTO lanes (name, title, role, status, branch, base, worktree, wip_limit, provider, backend, \
     created_at, made_worktree) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (name) DO UPDATE SET \
     title = excluded.title, role = excluded.role, status = excluded.status, branch = excluded.branch, \
     base = excluded.base, worktree = excluded.worktree, wip_limit = excluded.wip_limit, \
     provider = excluded.provider, backend = excluded.backend, made_worktree = excluded.made_worktree";
const DELETE: &str = "DELETE FROM lanes WHERE name = $1";
const USAGE: &str = "SELECT (SELECT count(*) FROM tasks WHERE lane = $1 AND claimant IS NOT NULL), \
     (SELECT count(*) FROM agent_sessions WHERE lane = $1 AND ended_at IS NULL), \
     (SELECT count(*) FROM tasks WHERE lane = $1), (SELECT count(*) FROM agent_sessions WHERE lane = $1), \
     (SELECT count(*) FROM handoffs WHERE to_lane = $1), (SELECT count(*) FROM messages WHERE to_lane = $1)";

fn read(row: &Row<'_>) -> Result<Lane, StoreError> {
    Ok(Lane {
        name: sql::parse_id("a lane", &row.get::<_, String>(0)?, LaneName::parse)?,
        title: row.get(1)?,
        role: sql::parse_optional_id("a role", row.get(2)?, Role::parse)?,
        status: sql::parse_value("a lane's status", &row.get::<_, String>(3)?, LaneStatus::parse)?,
        branch: row.get(4)?,
        base: row.get(5)?,
        worktree: row.get(6)?,
        wip_limit: row.get(7)?,
        provider: sql::parse_optional_id("a provider", row.get(8)?, Label::parse)?,
        backend: row.get(9)?,
        created_at: Timestamp::from_millis(row.get(10)?),
        owns_worktree: row.get(11)?,
    })
}

/// The lane of this name.
///
/// # Errors
/// As the store fails.
pub fn find(tx: &ReadTx<'_>, name: &LaneName) -> Result<Option<Lane>, StoreError> {
    sql::first(tx.conn(), ONE, &[&name.as_str()], read)
}

/// Every lane, by name.
///
/// # Errors
/// As the store fails.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<Lane>, StoreError> {
    sql::rows(tx.conn(), ALL, &[], read)
}

/// Inserts or replaces a lane.
///
/// # Errors
/// As the store fails.
pub fn upsert(tx: &WriteTx<'_>, lane: &Lane) -> Result<(), StoreError> {
    sql::execute(
        tx.conn(),
        UPSERT,
        &[
            &lane.name.as_str(),
            &lane.title,
            &lane.role.as_ref().map(Role::as_str),
            &lane.status.as_str(),
            &lane.branch,
            &lane.base,
            &lane.worktree,
            &lane.wip_limit,
            &lane.provider.as_ref().map(Label::as_str),
            &lane.backend,
            &lane.created_at.millis(),
            &lane.owns_worktree,
        ],
    )?;
    Ok(())
}

/// Deletes an unused lane.
///
/// # Errors
/// As the store fails, also if the lane is in use.
pub fn delete(tx: &WriteTx<'_>, name: &LaneName) -> Result<(), StoreError> {
    sql::execute(tx.conn(), DELETE, &[&name.as_str()])?;
    Ok(())
}

/// The numbers of rows that refer to a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneUsage {
    /// Claimed tasks.
    pub claimed_tasks: i64,
    /// Live sessions.
    pub live_sessions: i64,
    /// Tasks of any state.
    pub tasks: i64,
    /// Sessions of any state.
    pub sessions: i64,
    /// Handoffs to it, answered or not.
    pub handoffs: i64,
    /// Messages to it, open or not.
    pub messages: i64,
}

/// Counts the rows that refer to a lane.
///
/// # Errors
/// As the store fails.
pub fn usage(tx: &ReadTx<'_>, name: &LaneName) -> Result<LaneUsage, StoreError> {
    let read = |row: &Row<'_>| {
        Ok(LaneUsage {
            claimed_tasks: row.get(0)?,
            live_sessions: row.get(1)?,
            tasks: row.get(2)?,
            sessions: row.get(3)?,
            handoffs: row.get(4)?,
            messages: row.get(5)?,
        })
    };
    let none = LaneUsage { claimed_tasks: 0, live_sessions: 0, tasks: 0, sessions: 0, handoffs: 0, messages: 0 };
    Ok(sql::first(tx.conn(), USAGE, &[&name.as_str()], read)?.unwrap_or(none))
}
