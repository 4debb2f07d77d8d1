//! Handoffs as rows.

use super::sql::columns::{columns, text};
use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::handoff::{Handoff, HandoffStatus};
use crate::domain::{LaneName, TaskId};

columns! {
    Handoff {
        id, answered_at, answered_by;
        task = "task_id", from_role, from_actor, to_role, to_lane, status, summary, payload, epoch, created_at,
    }
}

const SELECT: &str = text!("SELECT ", COLUMNS, " FROM handoffs ");
const INSERT: &str = text!("INSERT INTO handoffs (", WRITTEN, ") VALUES (", PLACEHOLDERS, ") RETURNING id");
const ANSWER: &str = "UPDATE handoffs SET status = $2, answered_at = $3, answered_by = $4, reason = $5 \
     WHERE id = $1 AND status = 'open'";
const ONE: &str = text!(SELECT, "WHERE id = $1");
const ALL: &str = text!(SELECT, "ORDER BY id");
const OPEN: &str = text!(SELECT, "INDEXED BY handoffs_open WHERE status = 'open' ORDER BY id");
const OPEN_FOR_LANE: &str =
    text!(SELECT, "INDEXED BY handoffs_open WHERE status = 'open' AND to_lane = $1 ORDER BY id");
const OF_TASK: &str = text!(SELECT, "WHERE task_id = $1 ORDER BY id");

/// Adds an open handoff; the store sets its id and time.
/// Fails when the lane of the handoff is unknown.
pub fn insert(tx: &WriteTx<'_>, handoff: Handoff) -> Result<Handoff, StoreError> {
    let handoff = Handoff { status: HandoffStatus::Open, created_at: tx.now(), ..handoff };
    let id = sql::first(tx.conn(), INSERT, &values(&handoff), |row| row.get(0))?;
    Ok(Handoff { id: id.unwrap_or_default(), ..handoff })
}

/// Records the answer to an open handoff, which the actor of this transaction gives.
pub fn answer(
    tx: &WriteTx<'_>,
    handoff: Handoff,
    status: HandoffStatus,
    reason: Option<&str>,
) -> Result<Handoff, StoreError> {
    sql::execute(tx.conn(), ANSWER, &[&handoff.id, &status, &tx.now(), &tx.actor(), &reason])?;
    Ok(Handoff { status, answered_at: Some(tx.now()), answered_by: Some(tx.actor().to_owned()), ..handoff })
}

pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<Handoff>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}

/// Every handoff, or only the open ones when `open`; oldest first.
pub fn all(tx: &ReadTx<'_>, open: bool) -> Result<Vec<Handoff>, StoreError> {
    sql::rows(tx.conn(), if open { OPEN } else { ALL }, &[], read)
}

/// A task's handoffs, oldest first.
pub fn of_task(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<Handoff>, StoreError> {
    sql::rows(tx.conn(), OF_TASK, &[&task], read)
}

/// The open handoffs that are addressed to a lane, oldest first.
pub fn open_for_lane(tx: &ReadTx<'_>, lane: &LaneName) -> Result<Vec<Handoff>, StoreError> {
    sql::rows(tx.conn(), OPEN_FOR_LANE, &[&lane], read)
}
