//! Lanes as rows.

use super::sql::columns::{columns, text};
use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::LaneName;
use crate::domain::lane::Lane;
use crate::domain::sandbox::SandboxClass;

columns! {
    Lane {
        name, sandbox = "coalesce(sandbox, 'off')";
        title, role, status, branch, base, worktree, wip_limit, provider, backend, created_at,
        owns_worktree = "made_worktree", host, host_id,
    }
}

const SELECT: &str = text!("SELECT ", COLUMNS, " FROM lanes ");
const ONE: &str = text!(SELECT, "WHERE name = $1 AND removed_at IS NULL");
const ALL: &str = text!(SELECT, "WHERE removed_at IS NULL ORDER BY name");
const UPSERT: &str = text!(
    "INSERT INTO lanes (",
    WRITTEN,
    ", name, sandbox) VALUES (",
    PLACEHOLDERS,
    ", $14, $15) ON CONFLICT (name) DO UPDATE SET (",
    WRITTEN,
    ", sandbox, removed_at) = (",
    PLACEHOLDERS,
    ", $15, NULL)"
);
const DELETE: &str = "DELETE FROM lanes WHERE name = $1";
const HIDE: &str = "UPDATE lanes SET removed_at = $2, made_worktree = 0, host = NULL, host_id = NULL WHERE name = $1";
const FORGET_HOST: &str = "UPDATE lanes SET host = NULL, host_id = NULL WHERE name = $1";
const USAGE: &str = "SELECT (SELECT count(*) FROM tasks WHERE lane = $1 AND claimant IS NOT NULL), \
     (SELECT count(*) FROM agent_sessions WHERE lane = $1 AND ended_at IS NULL), \
     (SELECT count(*) FROM tasks WHERE lane = $1 AND status NOT IN ('done', 'cancelled')), \
     (SELECT count(*) FROM handoffs INDEXED BY handoffs_open WHERE status = 'open' AND to_lane = $1), \
     (SELECT count(*) FROM messages INDEXED BY messages_lane WHERE settled_at IS NULL AND to_lane = $1), \
     EXISTS (SELECT 1 FROM tasks WHERE lane = $1) OR EXISTS (SELECT 1 FROM agent_sessions WHERE lane = $1) \
     OR EXISTS (SELECT 1 FROM claims WHERE lane = $1) OR EXISTS (SELECT 1 FROM handoffs WHERE to_lane = $1) \
     OR EXISTS (SELECT 1 FROM messages WHERE to_lane = $1)";

const FINISHED: &str = "SELECT 1 FROM landings WHERE lane = $1 AND state = 'landed' \
     UNION ALL SELECT 1 FROM tasks WHERE lane = $1 AND status = 'done' LIMIT 1";

/// Whether work of a lane has landed, or one of its tasks is done.
pub fn has_finished(tx: &ReadTx<'_>, name: &LaneName) -> Result<bool, StoreError> {
    Ok(sql::first(tx.conn(), FINISHED, &[&name], |row| row.get::<i64>(0))?.is_some())
}

/// The lane of this name. Here and in every list, a removed lane counts as absent.
pub fn find(tx: &ReadTx<'_>, name: &LaneName) -> Result<Option<Lane>, StoreError> {
    sql::first(tx.conn(), ONE, &[&name], read)
}

/// Every lane, by name.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<Lane>, StoreError> {
    sql::rows(tx.conn(), ALL, &[], read)
}

/// Inserts or replaces a lane. The row of a removed lane is used again.
pub fn upsert(tx: &WriteTx<'_>, lane: &Lane) -> Result<(), StoreError> {
    let sandbox = Some(lane.sandbox).filter(|class| *class != SandboxClass::Off);
    let mut all = values(lane);
    all.extend([&lane.name as &dyn sql::ToValue, &sandbox]);
    sql::execute(tx.conn(), UPSERT, &all)?;
    Ok(())
}

/// Deletes a lane that no other row refers to.
/// Fails if a row refers to the lane.
pub fn delete(tx: &WriteTx<'_>, name: &LaneName) -> Result<(), StoreError> {
    sql::execute(tx.conn(), DELETE, &[&name])?;
    Ok(())
}

/// Hides a lane that other rows still name: its row stays, and its name can be used again.
pub fn hide(tx: &WriteTx<'_>, name: &LaneName) -> Result<(), StoreError> {
    sql::execute(tx.conn(), HIDE, &[&name, &tx.now()])?;
    Ok(())
}

/// Removes the host from the row of a lane, because the lane's worktree was removed.
pub fn forget_host(tx: &WriteTx<'_>, name: &LaneName) -> Result<(), StoreError> {
    sql::execute(tx.conn(), FORGET_HOST, &[&name])?;
    Ok(())
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneUsage {
    pub claimed_tasks: i64,
    pub live_sessions: i64,
    /// The number of tasks that are neither done nor cancelled, claimed or not.
    pub open_tasks: i64,
    pub open_handoffs: i64,
    /// The number of messages to it that are not settled.
    pub open_messages: i64,
    /// Whether any row refers to it, closed or not.
    pub has_history: bool,
}

/// Counts the rows that refer to a lane.
pub fn usage(tx: &ReadTx<'_>, name: &LaneName) -> Result<LaneUsage, StoreError> {
    let read = |row: &Row<'_>| {
        Ok(LaneUsage {
            claimed_tasks: row.get(0)?,
            live_sessions: row.get(1)?,
            open_tasks: row.get(2)?,
            open_handoffs: row.get(3)?,
            open_messages: row.get(4)?,
            has_history: row.get(5)?,
        })
    };
    Ok(sql::first(tx.conn(), USAGE, &[&name], read)?.unwrap_or_default())
}
