//! Checkpoints as rows: only added.

use super::sql::{self, Row, Statement};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::checkpoint::{Checkpoint, CheckpointOrigin, CheckpointState};
use crate::domain::{LaneName, SessionId, TaskId};
use crate::env::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointFields {
    pub task: TaskId,
    /// The session that records it; it must be registered.
    pub session: Option<SessionId>,
    pub state: CheckpointState,
    pub owner: Option<String>,
    pub summary: String,
    pub artifact: Option<String>,
    /// The time at which the next checkpoint is due.
    pub due_at: Option<Timestamp>,
    /// The part of Fairway that records it; `None` for an agent or a person.
    pub origin: Option<CheckpointOrigin>,
}

/// The origin of a row. Versions before schema 6 stored none: their summaries of a launch and of a stale session tell it.
macro_rules! origin {
    ($of:literal) => {
        concat!(
            "coalesce(",
            $of,
            ".origin, CASE WHEN ",
            $of,
            ".summary = 'session ' || ",
            $of,
            ".session_id || ' was launched' THEN 'launch' WHEN substr(",
            $of,
            ".summary, 1, length(",
            $of,
            ".session_id) + 19) = 'session ' || ",
            $of,
            ".session_id || ' is stale: ' THEN 'reconcile' END)"
        )
    };
}
macro_rules! select {
    ($($rest:expr),+) => {
        concat!(
            "SELECT c.id, c.task_id, c.session_id, c.state, c.owner, c.summary, c.artifact, c.due_at, c.created_at, ",
            origin!("c"),
            " FROM checkpoints c ",
            $($rest),+
        )
    };
}

const INSERT: &str = "INSERT INTO checkpoints (task_id, session_id, state, owner, summary, artifact, due_at, created_at, \
     origin) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id";
const NEWEST: &str = select!("WHERE c.task_id = $1 ORDER BY c.id DESC LIMIT 1");
const BY_ID: &str = select!("WHERE c.id = $1");
const WRITTEN: &str =
    select!("WHERE c.task_id = $1 AND c.origin IS NULL AND ", origin!("c"), " IS NULL ORDER BY c.id DESC LIMIT $2");
const OF_TASK: &str = select!("WHERE c.task_id = $1 ORDER BY c.id");
const HELD_IN_LANE: &str = select!(
    "JOIN tasks t INDEXED BY tasks_held ON t.id = c.task_id WHERE t.claimant IS NOT NULL AND t.lane = $1 \
     AND c.id = (SELECT max(w.id) FROM checkpoints w WHERE w.task_id = t.id AND w.origin IS NULL AND ",
    origin!("w"),
    " IS NULL) ORDER BY t.id"
);
const OVERDUE: &str = select!(
    "INDEXED BY checkpoints_due JOIN tasks t ON t.id = c.task_id \
     WHERE c.due_at IS NOT NULL AND c.due_at <= $1 AND t.closed_at IS NULL \
     AND NOT EXISTS (SELECT 1 FROM checkpoints w WHERE w.task_id = c.task_id AND w.id > c.id \
                     AND w.origin IS NULL AND ",
    origin!("w"),
    " IS NULL) ORDER BY c.due_at, c.id"
);
macro_rules! recorded_by {
    ($id:literal) => {
        concat!(
            "SELECT actor FROM events WHERE task_id = $1 AND kind = 'checkpoint.recorded' AND ",
            $id,
            " = $2 ORDER BY seq DESC LIMIT 1"
        )
    };
}
const RECORDED_BY: Statement<'_> = Statement {
    sqlite: recorded_by!("json_extract(data, '$.id')"),
    postgres: recorded_by!("(data::json ->> 'id')::bigint"),
};

fn read(row: &Row<'_>) -> Result<Checkpoint, StoreError> {
    Ok(Checkpoint {
        id: row.get(0)?,
        task: row.get(1)?,
        session: row.get(2)?,
        state: row.get(3)?,
        owner: row.get(4)?,
        summary: row.get(5)?,
        artifact: row.get(6)?,
        due_at: row.get(7)?,
        created_at: row.get(8)?,
        origin: row.get(9)?,
    })
}

/// Adds a checkpoint.
/// Fails when its session is unknown.
pub fn insert(tx: &WriteTx<'_>, draft: &CheckpointFields) -> Result<Checkpoint, StoreError> {
    let id = sql::first(
        tx.conn(),
        INSERT,
        &[
            &draft.task,
            &draft.session,
            &draft.state,
            &draft.owner,
            &draft.summary,
            &draft.artifact,
            &draft.due_at,
            &tx.now(),
            &draft.origin,
        ],
        |row| row.get(0),
    )?;
    Ok(Checkpoint {
        id: id.unwrap_or_default(),
        task: draft.task.clone(),
        session: draft.session.clone(),
        state: draft.state,
        owner: draft.owner.clone(),
        summary: draft.summary.clone(),
        artifact: draft.artifact.clone(),
        due_at: draft.due_at,
        origin: draft.origin,
        created_at: tx.now(),
    })
}

pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<Checkpoint>, StoreError> {
    sql::first(tx.conn(), BY_ID, &[&id], read)
}

/// The newest checkpoints of a task that an agent or a person wrote, newest first, at most `limit`.
pub fn written(tx: &ReadTx<'_>, task: &TaskId, limit: usize) -> Result<Vec<Checkpoint>, StoreError> {
    sql::rows(tx.conn(), WRITTEN, &[&task, &i64::try_from(limit).unwrap_or(i64::MAX)], read)
}

/// The newest checkpoint of a task that an agent or a person wrote.
pub fn newest_written(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<Checkpoint>, StoreError> {
    Ok(written(tx, task, 1)?.pop())
}

/// The author of a checkpoint: its session, otherwise the actor of the event that recorded it. Returns `None` when there is no
/// such event.
pub fn author(tx: &ReadTx<'_>, checkpoint: &Checkpoint) -> Result<Option<String>, StoreError> {
    match &checkpoint.session {
        Some(session) => Ok(Some(session.to_string())),
        None => sql::first(tx.conn(), RECORDED_BY, &[&checkpoint.task, &checkpoint.id], |row| row.get(0)),
    }
}

/// The newest checkpoint of a task, of any origin.
pub fn newest(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<Checkpoint>, StoreError> {
    sql::first(tx.conn(), NEWEST, &[&task], read)
}

/// Every checkpoint of a task, oldest first.
pub fn of_task(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<Checkpoint>, StoreError> {
    sql::rows(tx.conn(), OF_TASK, &[&task], read)
}

/// The newest written checkpoints of open tasks that promised another checkpoint by a time that is past, longest overdue first.
pub fn overdue(tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Checkpoint>, StoreError> {
    sql::rows(tx.conn(), OVERDUE, &[&now], read)
}

/// The newest written checkpoint of each task that is claimed in a lane.
pub fn held_in_lane(tx: &ReadTx<'_>, lane: &LaneName) -> Result<Vec<Checkpoint>, StoreError> {
    sql::rows(tx.conn(), HELD_IN_LANE, &[&lane], read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::open;

    #[test]
    fn written_checkpoints_are_found_by_their_index() {
        let conn = open::in_memory().unwrap();
        for query in [WRITTEN, HELD_IN_LANE] {
            let explain = format!("EXPLAIN QUERY PLAN {query}");
            let plan = sql::rows(&conn, &explain, &[], |row| row.get::<String>(3)).unwrap().join("\n");
            assert!(plan.contains("checkpoints_written (task_id=?"), "{plan}");
        }
    }
}
