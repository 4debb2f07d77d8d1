//! The removal of tasks: what refers to a task, its deletion, and the ids that are not given out again.

use std::collections::BTreeSet;

use super::sql::{self, Statement, json_of, json_texts};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::TaskId;
use crate::env::Timestamp;

const FIND: &str = "SELECT removed_at FROM removed_tasks WHERE id = $1";
const AMONG: Statement<'_> = json_texts!("SELECT id FROM removed_tasks WHERE id IN (SELECT value FROM ", "$1", ")");
const NUMBERED: &str = "SELECT id FROM removed_tasks WHERE id >= $1 AND id < $2";
const INSERT: &str = "INSERT INTO removed_tasks (id, removed_at) VALUES ($1, $2)";
const DEPENDENTS: &str = "SELECT task_id FROM task_deps WHERE depends_on = $1 ORDER BY task_id";
const CHILDREN: &str = "SELECT id FROM tasks WHERE parent = $1 ORDER BY id";
const DELETE: [&str; 6] = [
    "DELETE FROM seen_work WHERE task_id = $1",
    "DELETE FROM task_deps WHERE task_id = $1",
    "DELETE FROM task_labels WHERE task_id = $1",
    "DELETE FROM task_paths WHERE task_id = $1",
    "DELETE FROM task_checks WHERE task_id = $1",
    "DELETE FROM tasks WHERE id = $1",
];
// Every record that names a task. A claim comes first: it is the reason that people ask for.
const RECORDS: [(&str, &str); 9] = [
    ("claim", "SELECT count(*) FROM claims WHERE task_id = $1"),
    ("checkpoint", "SELECT count(*) FROM checkpoints WHERE task_id = $1"),
    ("evidence record", "SELECT count(*) FROM evidence WHERE task_id = $1"),
    ("handoff", "SELECT count(*) FROM handoffs WHERE task_id = $1"),
    ("review", "SELECT count(*) FROM reviews WHERE task_id = $1"),
    ("comment", "SELECT count(*) FROM review_comments WHERE task_id = $1"),
    ("session", "SELECT count(*) FROM agent_sessions WHERE task_id = $1"),
    ("usage report", "SELECT count(*) FROM usage_turns WHERE task_id = $1"),
    ("tool call", "SELECT count(*) FROM tool_calls WHERE task_id = $1"),
];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskUses {
    /// The tasks that depend on it, by id.
    pub dependents: Vec<TaskId>,
    /// The tasks that are parts of it, by id.
    pub children: Vec<TaskId>,
    /// The kinds of records about it, each with a count above zero.
    pub records: Vec<(&'static str, i64)>,
}

pub fn uses(tx: &ReadTx<'_>, id: &TaskId) -> Result<TaskUses, StoreError> {
    let ids = |query: &str| sql::rows(tx.conn(), query, &[&id], |row| row.get::<TaskId>(0));
    let mut records = Vec::new();
    for (noun, query) in RECORDS {
        let count: i64 = sql::first(tx.conn(), query, &[&id], |row| row.get(0))?.unwrap_or_default();
        if count > 0 {
            records.push((noun, count));
        }
    }
    Ok(TaskUses { dependents: ids(DEPENDENTS)?, children: ids(CHILDREN)?, records })
}

/// Deletes a task with its labels and other lists, and records its id, so that it is not given out again.
/// Fails when a record refers to the task.
pub fn remove(tx: &WriteTx<'_>, id: &TaskId) -> Result<(), StoreError> {
    for query in DELETE {
        sql::execute(tx.conn(), query, &[&id])?;
    }
    sql::execute(tx.conn(), INSERT, &[&id, &tx.now()])?;
    Ok(())
}

/// When the task with this id was removed; `None` when no such task was removed.
pub fn find(tx: &ReadTx<'_>, id: &TaskId) -> Result<Option<Timestamp>, StoreError> {
    sql::first(tx.conn(), FIND, &[&id], |row| row.get::<Timestamp>(0))
}

/// Selects from `ids` those of removed tasks.
pub fn among(tx: &ReadTx<'_>, ids: &[&TaskId]) -> Result<BTreeSet<TaskId>, StoreError> {
    let ids = json_of(&ids.iter().map(|id| id.as_str()).collect::<Vec<_>>())?;
    Ok(sql::rows(tx.conn(), AMONG, &[&ids], |row| row.get::<TaskId>(0))?.into_iter().collect())
}

/// The highest number of the removed ids `PREFIX-1`, `PREFIX-2`, …; 0 if there is none.
pub fn newest_number(tx: &ReadTx<'_>, prefix: &str) -> Result<u64, StoreError> {
    let (from, to) = (format!("{prefix}-0"), format!("{prefix}-:"));
    let numbers = sql::rows(tx.conn(), NUMBERED, &[&from, &to], |row| {
        let id: String = row.get(0)?;
        Ok(id.get(prefix.len() + 1..).and_then(|digits| digits.parse::<u64>().ok()))
    })?;
    Ok(numbers.into_iter().flatten().max().unwrap_or_default())
}
