//! The dependencies of tasks, and how many of them are open.

use crate::{
    domain::{
        TaskId,
        task::{NotReadyReason, TaskStatus},
    },
    store::{
        ReadTx, StoreError, WriteTx,
        sql::{self, Row},
    },
};

const DEPENDENCIES: &str = "SELECT depends_on FROM task_deps WHERE task_id = $1 ORDER BY depends_on";
const WAITING: &str = "SELECT d.depends_on, t.status FROM task_deps d LEFT JOIN tasks t ON t.id = d.depends_on \
     WHERE d.task_id = $1 ORDER BY d.depends_on";
const DEPENDENTS: &str = "SELECT t.id, t.status FROM task_deps d JOIN tasks t ON t.id = d.task_id \
     WHERE d.depends_on = $1 ORDER BY t.id";
const COUNT_OPEN_DEPS: &str = "SELECT count(*) FROM task_deps d LEFT JOIN tasks t ON t.id = d.depends_on \
     WHERE d.task_id = $1 AND coalesce(t.status, 'absent') <> 'done'";
const SHIFT_OPEN_DEPS: &str = "UPDATE tasks SET open_deps = open_deps + $2 \
     WHERE id IN (SELECT task_id FROM task_deps WHERE depends_on = $1)";
const SET_OPEN_DEPS: &str = "UPDATE tasks SET open_deps = $2 WHERE id = $1";

/// The dependencies of a task, by id; empty for an unknown task.
pub fn dependencies(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    let read = |row: &Row<'_>| row.get::<TaskId>(0);
    sql::rows(tx.conn(), DEPENDENCIES, &[&id], read)
}

/// The open dependencies of a task.
pub fn waiting_on(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<NotReadyReason>, StoreError> {
    let found = sql::rows(tx.conn(), WAITING, &[&id], |row| {
        let on = row.get::<TaskId>(0)?;
        let status = row.get::<Option<TaskStatus>>(1)?;
        Ok(NotReadyReason::for_dependency(on, status))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// The tasks that depend on a task, with their statuses.
pub fn dependents(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<(TaskId, TaskStatus)>, StoreError> {
    sql::rows(tx.conn(), DEPENDENTS, &[&id], |row| {
        let status = row.get::<TaskStatus>(1)?;
        Ok((row.get::<TaskId>(0)?, status))
    })
}

/// Changes the number of open dependencies of the tasks that depend on a task.
pub(super) fn shift_open_deps(tx: &WriteTx<'_>, id: &TaskId, by: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), SHIFT_OPEN_DEPS, &[&id, &by])?;
    Ok(())
}

/// Counts the open dependencies of a task again.
pub(super) fn recount_open_deps(tx: &WriteTx<'_>, id: &TaskId) -> Result<(), StoreError> {
    let open: i64 = sql::first(tx.conn(), COUNT_OPEN_DEPS, &[&id], |row| row.get(0))?.unwrap_or_default();
    sql::execute(tx.conn(), SET_OPEN_DEPS, &[&id, &open])?;
    Ok(())
}
