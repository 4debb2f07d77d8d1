//! Integrity of the store: SQLite's own checks, derived columns, and their repair.

use super::sql::{self, Connection, Row, Statement};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::plural;
use crate::env::Timestamp;

/// A derived column with a wrong value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inconsistency {
    pub code: &'static str,
    pub task: String,
    /// The actual and the expected value.
    pub message: String,
}

/// The maximum number of findings of one kind.
const MAX_REPORTED: usize = 20;

// A server keeps its pages itself; what it can leave behind is an index or a reference that was never completed.
const INTEGRITY: Statement<'_> = Statement {
    sqlite: "SELECT integrity_check FROM pragma_integrity_check LIMIT 20",
    postgres: "SELECT 'the index ' || c.relname || ' is not valid' FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
         WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid ORDER BY 1 LIMIT 20",
};
const REFERENCES: Statement<'_> = Statement {
    sqlite: "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2 ORDER BY 1, 2",
    postgres: "SELECT conrelid::regclass::text, confrelid::regclass::text, count(*) FROM pg_constraint \
         WHERE connamespace = current_schema()::regnamespace AND contype = 'f' AND NOT convalidated \
         GROUP BY 1, 2 ORDER BY 1, 2",
};

macro_rules! expected_open_deps {
    () => {
        "(SELECT count(*) FROM task_deps d LEFT JOIN tasks o ON o.id = d.depends_on \
          WHERE d.task_id = t.id AND coalesce(o.status, 'absent') <> 'done')"
    };
}
macro_rules! highest_epoch {
    () => {
        "(SELECT max(c.epoch) FROM claims c WHERE c.task_id = t.id)"
    };
}
macro_rules! same_claim {
    () => {
        "c.task_id = t.id AND c.ended_at IS NULL AND c.claimant = t.claimant AND c.epoch = t.epoch"
    };
}

const WRONG_DEPS: &str = concat!(
    "SELECT t.id, t.open_deps, ",
    expected_open_deps!(),
    " FROM tasks t WHERE t.open_deps <> ",
    expected_open_deps!(),
    " ORDER BY t.id"
);
const FIX_DEPS: &str =
    concat!("UPDATE tasks AS t SET open_deps = ", expected_open_deps!(), " WHERE open_deps <> ", expected_open_deps!());

const LOW_EPOCHS: &str = concat!(
    "SELECT t.id, t.epoch, ",
    highest_epoch!(),
    " FROM tasks t WHERE t.epoch < ",
    highest_epoch!(),
    " ORDER BY t.id"
);
// A claimed task gets a new epoch: the claim with the highest one has ended.
const RAISE_EPOCHS: &str = concat!(
    "UPDATE tasks AS t SET epoch = ",
    highest_epoch!(),
    " + CASE WHEN t.claimant IS NULL THEN 0 ELSE 1 END WHERE t.epoch < ",
    highest_epoch!()
);

const MISSING_CLAIM_ROWS: &str = concat!(
    "SELECT t.id, t.claimant, t.epoch FROM tasks t WHERE t.claimant IS NOT NULL \
     AND NOT EXISTS (SELECT 1 FROM claims c WHERE ",
    same_claim!(),
    ") ORDER BY t.id"
);
const LEFTOVER_CLAIM_ROWS: &str = concat!(
    "SELECT c.task_id, c.claimant, c.epoch FROM claims c WHERE c.ended_at IS NULL \
     AND NOT EXISTS (SELECT 1 FROM tasks t WHERE ",
    same_claim!(),
    ") ORDER BY c.task_id"
);
const END_LEFTOVER_CLAIM_ROWS: &str = concat!(
    "UPDATE claims AS c SET ended_at = $1, ended_as = 'released' WHERE c.ended_at IS NULL \
     AND NOT EXISTS (SELECT 1 FROM tasks t WHERE ",
    same_claim!(),
    ")"
);
const INSERT_MISSING_CLAIM_ROWS: &str = concat!(
    "INSERT INTO claims (task_id, epoch, claimant, session_id, role, claimed_at) \
     SELECT t.id, t.epoch, t.claimant, s.id, t.claim_role, t.claimed_at \
     FROM tasks t LEFT JOIN agent_sessions s ON s.id = t.claim_session WHERE t.claimant IS NOT NULL \
     AND NOT EXISTS (SELECT 1 FROM claims c WHERE ",
    same_claim!(),
    ") \
     ON CONFLICT (task_id, epoch) DO UPDATE SET claimant = excluded.claimant, session_id = excluded.session_id, \
     role = excluded.role, claimed_at = excluded.claimed_at, ended_at = NULL, ended_as = NULL"
);

const REMOVED_AND_PRESENT: &str =
    "SELECT r.id FROM removed_tasks r WHERE EXISTS (SELECT 1 FROM tasks t WHERE t.id = r.id) ORDER BY r.id";
const FORGET_REMOVED: &str = "DELETE FROM removed_tasks WHERE id IN (SELECT id FROM tasks)";

const WITHOUT_ORIGIN: &str = "SELECT t.id FROM tasks t WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.task_id = t.id \
     AND e.kind IN ('task.added', 'task.imported')) ORDER BY t.id LIMIT 20";
const DEPENDENCIES: &str = "SELECT task_id, depends_on FROM task_deps";
const PARENTS: &str = "SELECT id, parent FROM tasks WHERE parent IS NOT NULL";
const TASKS: &str = "SELECT count(*) FROM tasks";

/// The errors that SQLite's own checks find in pages, indexes, CHECK constraints and references; empty if there are none.
pub fn integrity_errors(tx: &ReadTx<'_>) -> Result<Vec<String>, StoreError> {
    database_errors(tx.conn())
}

pub(super) fn database_errors<'c>(conn: impl Into<Connection<'c>>) -> Result<Vec<String>, StoreError> {
    let conn = conn.into();
    let mut found = sql::rows(conn, INTEGRITY, &[], |row| row.get::<String>(0))?;
    found.retain(|line| line != "ok");
    found.extend(sql::rows(conn, REFERENCES, &[], |row| {
        let (table, parent, count): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!("{table}: {} with a reference to a missing row of {parent}", plural::count(count, "row")))
    })?);
    Ok(found)
}

/// Every derived column with a wrong value, at most twenty of a kind.
pub fn inconsistencies(tx: &ReadTx<'_>) -> Result<Vec<Inconsistency>, StoreError> {
    let mut found = Vec::new();
    let mut look = |code, query: &str, tell: fn(&Row<'_>) -> Result<String, StoreError>| -> Result<(), StoreError> {
        let mut told = 0;
        sql::for_each(tx.conn(), query, &[], |row| {
            found.push(Inconsistency { code, task: row.get(0)?, message: tell(row)? });
            told += 1;
            Ok(told < MAX_REPORTED)
        })
    };
    look("open_deps_wrong", WRONG_DEPS, |row| {
        let (task, there, due): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!("{task} counts {there} open dependencies; it has {due}"))
    })?;
    look("epoch_low", LOW_EPOCHS, |row| {
        let (task, there, due): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!("{task} is at epoch {there}; a claim on it had {due}"))
    })?;
    look("claim_missing", MISSING_CLAIM_ROWS, |row| {
        let (task, holder, epoch): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!("{task} is held by {holder} under epoch {epoch}, but its history has no such claim"))
    })?;
    look("claim_left", LEFTOVER_CLAIM_ROWS, |row| {
        let (task, holder, epoch): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(format!(
            "the history of {task} has a claim of {holder} under epoch {epoch} that is active, but the task has no such claim"
        ))
    })?;
    look("removed_present", REMOVED_AND_PRESENT, |row| {
        let task: String = row.get(0)?;
        Ok(format!("{task} is recorded as removed, but there is such a task"))
    })?;
    Ok(found)
}

/// Repairs the rows that [`inconsistencies`] finds, and returns the number of changed rows. A task's own row counts as right; its
/// history is adapted to it.
pub fn repair(tx: &WriteTx<'_>) -> Result<usize, StoreError> {
    let conn = tx.conn();
    let mut changed = sql::execute(conn, FIX_DEPS, &[])?;
    // Epochs first: they decide which claim is live. End before insert: at most one claim is live.
    changed += sql::execute(conn, RAISE_EPOCHS, &[])?;
    changed += sql::execute(conn, END_LEFTOVER_CLAIM_ROWS, &[&tx.now()])?;
    changed += sql::execute(conn, INSERT_MISSING_CLAIM_ROWS, &[])?;
    changed += sql::execute(conn, FORGET_REMOVED, &[])?;
    Ok(changed)
}

/// The tasks, at most twenty, whose creation is not in the event log.
pub fn without_origin(tx: &ReadTx<'_>) -> Result<Vec<String>, StoreError> {
    sql::rows(tx.conn(), WITHOUT_ORIGIN, &[], |row| row.get(0))
}

/// Every dependency, as a pair of the dependent task and the task that it depends on.
pub fn dependencies(tx: &ReadTx<'_>) -> Result<Vec<(String, String)>, StoreError> {
    sql::rows(tx.conn(), DEPENDENCIES, &[], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Every task that has a parent, as a pair of the task and its parent.
pub fn parents(tx: &ReadTx<'_>) -> Result<Vec<(String, String)>, StoreError> {
    sql::rows(tx.conn(), PARENTS, &[], |row| Ok((row.get(0)?, row.get(1)?)))
}

pub fn count_tasks(tx: &ReadTx<'_>) -> Result<i64, StoreError> {
    Ok(sql::first(tx.conn(), TASKS, &[], |row| row.get(0))?.unwrap_or_default())
}

/// How far apart the clock readings of commands that run at once may be.
const TOLERANCE_MS: i64 = 60_000;

const FUTURE_TIMES: &str = "SELECT \
     EXISTS (SELECT 1 FROM tasks WHERE claimant IS NOT NULL AND lease_until > $1 + lease_ms) \
     OR EXISTS (SELECT 1 FROM agent_sessions WHERE ended_at IS NULL AND last_heartbeat_at > $1)";
const SHORTEN_LEASES: &str = "UPDATE tasks SET lease_until = $2 + lease_ms \
     WHERE claimant IS NOT NULL AND lease_until > $1 + lease_ms";
const SHORTEN_HEARTBEATS: &str =
    "UPDATE agent_sessions SET last_heartbeat_at = $2 WHERE ended_at IS NULL AND last_heartbeat_at > $1";

/// Whether the store has a lease or a heartbeat that lies in the future, because a fast clock wrote it.
pub fn has_future_times(tx: &ReadTx<'_>, now: Timestamp) -> Result<bool, StoreError> {
    Ok(sql::first(tx.conn(), FUTURE_TIMES, &[&(now.millis() + TOLERANCE_MS)], |row| row.get(0))?.unwrap_or(false))
}

/// Corrects the leases and heartbeats that lie in the future, as if they had been written now.
pub fn count_future_times_from_now(tx: &WriteTx<'_>) -> Result<(), StoreError> {
    let now = tx.now().millis();
    sql::execute(tx.conn(), SHORTEN_LEASES, &[&(now + TOLERANCE_MS), &now])?;
    sql::execute(tx.conn(), SHORTEN_HEARTBEATS, &[&(now + TOLERANCE_MS), &now])?;
    Ok(())
}
