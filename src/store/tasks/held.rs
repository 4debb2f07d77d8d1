//! Claimed tasks and their leases.

use super::row::{self, FIELD_SEPARATOR, ITEM_SEPARATOR, select};
use crate::{
    domain::{LaneName, TaskId, rules::claim::HeldPaths, task::Task},
    env::Timestamp,
    store::{
        ReadTx, StoreError, WriteTx,
        sql::{self, Statement},
    },
};

const EXPIRED: Statement<'_> = select!(
    "FROM tasks t INDEXED BY tasks_held WHERE t.claimant IS NOT NULL AND t.lease_until <= $3 \
     ORDER BY t.priority, t.created_at, t.id"
);
const HELD_PATHS: &str = "SELECT t.id, t.claimant, string_agg(p.glob, $1) FROM tasks t INDEXED BY tasks_held \
     JOIN task_paths p ON p.task_id = t.id WHERE t.claimant IS NOT NULL AND t.claimant <> $2 GROUP BY t.id, t.claimant";
const HELD_IN_LANE: &str =
    "SELECT count(*) FROM tasks INDEXED BY tasks_held WHERE claimant IS NOT NULL AND lane = $1 AND id <> $2";
const HELD_BY: &str = "SELECT id, lane FROM tasks INDEXED BY tasks_held WHERE claimant IS NOT NULL AND claimant = $1 \
     ORDER BY claimed_at DESC, id LIMIT 1";
const RENEW_LEASES: &str = "UPDATE tasks SET lease_until = $2 + lease_ms \
     WHERE claimant = $1 AND claimant IS NOT NULL AND lease_until IS NOT NULL AND ($3 IS NULL OR id = $3)";

/// The claimed tasks with an expired lease, in claim order.
pub fn expired(tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Task>, StoreError> {
    sql::rows(tx.conn(), EXPIRED, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR, &now], row::read)
}

/// The path globs of all tasks that others than `claimant` have claimed.
pub fn held_paths(tx: &ReadTx<'_>, claimant: &str) -> Result<Vec<HeldPaths>, StoreError> {
    sql::rows(tx.conn(), HELD_PATHS, &[&ITEM_SEPARATOR, &claimant], |row| {
        Ok(HeldPaths {
            task: row.get(0)?,
            claimant: row.get(1)?,
            paths: row.get::<String>(2)?.split(ITEM_SEPARATOR).map(str::to_owned).collect(),
        })
    })
}

/// The claimant's most recently claimed task that is still theirs, and its lane.
pub fn last_claimed_by(tx: &ReadTx<'_>, claimant: &str) -> Result<Option<(TaskId, Option<LaneName>)>, StoreError> {
    sql::first(tx.conn(), HELD_BY, &[&claimant], |row| {
        let id = row.get::<TaskId>(0)?;
        Ok((id, row.get::<Option<LaneName>>(1)?))
    })
}

/// The number of claimed tasks in a lane, without `except`.
pub fn held_in_lane(tx: &ReadTx<'_>, lane: &LaneName, except: Option<&TaskId>) -> Result<i64, StoreError> {
    let except = except.map_or("", TaskId::as_str);
    let count = sql::first(tx.conn(), HELD_IN_LANE, &[&lane, &except], |row| row.get(0))?;
    Ok(count.unwrap_or_default())
}

/// Renews the lease of one of the claimant's tasks, or of all.
pub fn renew_leases(tx: &WriteTx<'_>, claimant: &str, only: Option<&TaskId>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), RENEW_LEASES, &[&claimant, &tx.now(), &only])?;
    Ok(())
}
