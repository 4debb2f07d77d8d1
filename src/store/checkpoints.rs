//! Checkpoints as rows: only added.

use rusqlite::Row;

use super::{ReadTx, StoreError, WriteTx, sql};
use crate::{
    domain::{
        LaneName, SessionId, TaskId,
        checkpoint::{Checkpoint, CheckpointState},
    },
    env::Timestamp,
};

/// A checkpoint to insert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointFields {
    /// The task.
    pub task: TaskId,
    /// The session that records it; it must be registered.
    pub session: Option<SessionId>,
    /// The state of the work.
    pub state: CheckpointState,
    /// The owner of the next step.
    pub owner: Option<String>,
    /// The summary.
    pub summary: String,
    /// The path of a related file.
    pub artifact: Option<String>,
    /// The time at which the next checkpoint is due.
    pub due_at: Option<Timestamp>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT c.id, c.task_id, c.session_id, c.state, c.owner, c.summary, c.artifact, c.due_at, c.created_at ",
            "FROM checkpoints c ",
            $rest
        )
    };
}

const INSERT: &str = "INSERT INTO checkpoints (task_id, session_id, state, owner, summary, artifact, due_at, created_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id";
const NEWEST: &str = select!("WHERE c.task_id = $1 ORDER BY c.id DESC LIMIT 1");
const OF_TASK: &str = select!("WHERE c.task_id = $1 ORDER BY c.id");
const HELD_IN_LANE: &str = select!(
    "JOIN tasks t INDEXED BY tasks_held ON t.id = c.task_id WHERE t.claimant IS NOT NULL AND t.lane = $1 \
     AND c.id = (SELECT max(id) FROM checkpoints WHERE task_id = t.id) ORDER BY t.id"
);
const OVERDUE: &str = select!(
    "INDEXED BY checkpoints_due JOIN tasks t ON t.id = c.task_id \
     WHERE c.due_at IS NOT NULL AND c.due_at <= $1 AND t.closed_at IS NULL \
     AND NOT EXISTS (SELECT 1 FROM checkpoints later WHERE later.task_id = c.task_id AND later.id > c.id) \
     ORDER BY c.due_at, c.id"
);

fn read(row: &Row<'_>) -> Result<Checkpoint, StoreError> {
    Ok(Checkpoint {
        id: row.get(0)?,
        task: sql::parse_id("a task id", &row.get::<_, String>(1)?, TaskId::parse)?,
        session: sql::parse_optional_id("a session id", row.get(2)?, SessionId::parse)?,
        state: sql::parse_value("a checkpoint's state", &row.get::<_, String>(3)?, CheckpointState::parse)?,
        owner: row.get(4)?,
        summary: row.get(5)?,
        artifact: row.get(6)?,
        due_at: row.get::<_, Option<i64>>(7)?.map(Timestamp::from_millis),
        created_at: Timestamp::from_millis(row.get(8)?),
    })
}

/// Adds a checkpoint.
///
/// # Errors
/// As the store fails, also when its session is unknown.
pub fn insert(tx: &WriteTx<'_>, draft: &CheckpointFields) -> Result<Checkpoint, StoreError> {
    let id = sql::first(
        tx.conn(),
        INSERT,
        &[
            &draft.task.as_str(),
            &draft.session.as_ref().map(SessionId::as_str),
            &draft.state.as_str(),
            &draft.owner,
            &draft.summary,
            &draft.artifact,
            &draft.due_at.map(Timestamp::millis),
            &tx.now().millis(),
        ],
        |row| Ok(row.get(0)?),
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
        created_at: tx.now(),
    })
}

/// The newest checkpoint of a task.
///
/// # Errors
/// As the store fails.
pub fn newest(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<Checkpoint>, StoreError> {
    sql::first(tx.conn(), NEWEST, &[&task.as_str()], read)
}

/// Every checkpoint of a task, oldest first.
///
/// # Errors
/// As the store fails.
pub fn of_task(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<Checkpoint>, StoreError> {
    sql::rows(tx.conn(), OF_TASK, &[&task.as_str()], read)
}

/// The newest checkpoints of open tasks whose next checkpoint is overdue, longest overdue first.
///
/// # Errors
/// As the store fails.
pub fn overdue(tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Checkpoint>, StoreError> {
    sql::rows(tx.conn(), OVERDUE, &[&now.millis()], read)
}

/// The newest checkpoint of each task that is claimed in a lane.
///
/// # Errors
/// As the store fails.
pub fn held_in_lane(tx: &ReadTx<'_>, lane: &LaneName) -> Result<Vec<Checkpoint>, StoreError> {
    sql::rows(tx.conn(), HELD_IN_LANE, &[&lane.as_str()], read)
}
