//! The changes of the tasks' states, from the event log.

use super::{
    ReadTx, StoreError,
    sql::{self, Row, Statement},
};
use crate::{
    domain::{EventKind, rules::task_times::TaskChange, task::TaskStatus},
    env::Timestamp,
};

macro_rules! changes {
    ($to:literal) => {
        concat!(
            "SELECT task_id, at, kind, session_id, ",
            $to,
            " FROM events WHERE task_id IS NOT NULL AND kind IN ('task.added', 'task.imported', 'task.claimed', ",
            "'task.released', 'task.blocked', 'task.unblocked', 'task.submitted', 'task.resumed', 'task.done', ",
            "'task.landed', 'task.cancelled', 'task.reopened') ORDER BY seq"
        )
    };
}
const CHANGES: Statement<'_> = Statement {
    sqlite: changes!("coalesce(json_extract(data, '$.to'), json_extract(data, '$.status'))"),
    postgres: changes!("coalesce(data::json ->> 'to', data::json ->> 'status')"),
};

/// Every change of a task's state, in order. Those since `from` that a session of `sessions` made are counted; without
/// sessions those of all.
pub fn all(tx: &ReadTx<'_>, from: Timestamp, sessions: &[&str]) -> Result<Vec<TaskChange>, StoreError> {
    let mut changes = Vec::new();
    sql::for_each(tx.conn(), CHANGES, &[], |row| {
        changes.extend(read(row, from, sessions)?);
        Ok(true)
    })?;
    Ok(changes)
}

/// The change of a row; `None` for a state that this binary does not know.
fn read(row: &Row<'_>, from: Timestamp, sessions: &[&str]) -> Result<Option<TaskChange>, StoreError> {
    let (kind, to): (String, Option<String>) = (row.get(2)?, row.get(4)?);
    let Some(kind) = EventKind::parse(&kind) else { return Ok(None) };
    let to = match (kind, to.as_deref()) {
        (EventKind::TaskClaimed, _) => Some(TaskStatus::InProgress),
        (EventKind::TaskAdded, None) => Some(TaskStatus::Todo),
        (_, Some(to)) => TaskStatus::parse(to),
        (_, None) => None,
    };
    let (at, session): (i64, Option<String>) = (row.get(1)?, row.get(3)?);
    let is_of_session = sessions.is_empty() || session.as_deref().is_some_and(|session| sessions.contains(&session));
    let (task, at) = (row.get(0)?, Timestamp::from_millis(at));
    Ok(to.map(|to| TaskChange { task, at, kind, to, is_counted: at >= from && is_of_session }))
}
