//! Handoffs as rows.

use super::{
    ReadTx, StoreError, WriteTx,
    sql::{self, Row},
};
use crate::{
    domain::{
        LaneName, Role, TaskId,
        handoff::{Handoff, HandoffStatus},
    },
    env::Timestamp,
};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, task_id, from_role, from_actor, to_role, to_lane, status, summary, payload, epoch, created_at, ",
            "answered_at, answered_by FROM handoffs ",
            $rest
        )
    };
}

const INSERT: &str = "INSERT INTO handoffs (task_id, from_role, from_actor, to_role, to_lane, status, summary, payload, \
     epoch, created_at) VALUES ($1, $2, $3, $4, $5, 'open', $6, $7, $8, $9) RETURNING id";
const ANSWER: &str = "UPDATE handoffs SET status = $2, answered_at = $3, answered_by = $4, reason = $5 \
     WHERE id = $1 AND status = 'open'";
const ONE: &str = select!("WHERE id = $1");
const ALL: &str = select!("ORDER BY id");
const OPEN: &str = select!("INDEXED BY handoffs_open WHERE status = 'open' ORDER BY id");
const OPEN_FOR_LANE: &str = select!("INDEXED BY handoffs_open WHERE status = 'open' AND to_lane = $1 ORDER BY id");
const OF_TASK: &str = select!("WHERE task_id = $1 ORDER BY id");

fn read(row: &Row<'_>) -> Result<Handoff, StoreError> {
    Ok(Handoff {
        id: row.get(0)?,
        task: sql::parse_id("a task id", &row.get::<String>(1)?, TaskId::parse)?,
        from_role: sql::parse_optional_id("a role", row.get(2)?, Role::parse)?,
        from_actor: row.get(3)?,
        to_role: sql::parse_optional_id("a role", row.get(4)?, Role::parse)?,
        to_lane: sql::parse_optional_id("a lane", row.get(5)?, LaneName::parse)?,
        status: sql::parse_value("a handoff's status", &row.get::<String>(6)?, HandoffStatus::parse)?,
        summary: row.get(7)?,
        payload: row.get(8)?,
        epoch: row.get(9)?,
        created_at: Timestamp::from_millis(row.get(10)?),
        answered_at: row.get::<Option<i64>>(11)?.map(Timestamp::from_millis),
        answered_by: row.get(12)?,
    })
}

/// Adds an open handoff; the store sets its id and time.
///
/// # Errors
/// As the store fails, also when its lane is unknown.
pub fn insert(tx: &WriteTx<'_>, handoff: Handoff) -> Result<Handoff, StoreError> {
    let id = sql::first(
        tx.conn(),
        INSERT,
        &[
            &handoff.task.as_str(),
            &handoff.from_role.as_ref().map(Role::as_str),
            &handoff.from_actor,
            &handoff.to_role.as_ref().map(Role::as_str),
            &handoff.to_lane.as_ref().map(LaneName::as_str),
            &handoff.summary,
            &handoff.payload,
            &handoff.epoch,
            &tx.now().millis(),
        ],
        |row| row.get(0),
    )?;
    Ok(Handoff { id: id.unwrap_or_default(), status: HandoffStatus::Open, created_at: tx.now(), ..handoff })
}

/// Answers an open handoff as the actor of this transaction.
pub fn answer(
    tx: &WriteTx<'_>,
    handoff: Handoff,
    status: HandoffStatus,
    reason: Option<&str>,
) -> Result<Handoff, StoreError> {
    sql::execute(tx.conn(), ANSWER, &[&handoff.id, &status.as_str(), &tx.now().millis(), &tx.actor(), &reason])?;
    Ok(Handoff { status, answered_at: Some(tx.now()), answered_by: Some(tx.actor().to_owned()), ..handoff })
}

/// The handoff of this id.
pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<Handoff>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}

/// Every handoff, or the open ones, oldest first.
pub fn all(tx: &ReadTx<'_>, open: bool) -> Result<Vec<Handoff>, StoreError> {
    sql::rows(tx.conn(), if open { OPEN } else { ALL }, &[], read)
}

/// A task's handoffs, oldest first.
pub fn of_task(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<Handoff>, StoreError> {
    sql::rows(tx.conn(), OF_TASK, &[&task.as_str()], read)
}

/// The open handoffs to a lane, oldest first.
pub fn open_for_lane(tx: &ReadTx<'_>, lane: &LaneName) -> Result<Vec<Handoff>, StoreError> {
    sql::rows(tx.conn(), OPEN_FOR_LANE, &[&lane.as_str()], read)
}
