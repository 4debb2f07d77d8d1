//! Changes of a task's row and its lists.

use crate::domain::id::Label;
use crate::domain::task::{Task, TaskFields, TaskState, TaskStatus};
use crate::domain::{LaneName, Role, SessionId, TaskId};
use crate::env::Timestamp;
use crate::store::{StoreError, WriteTx, sql};
const INSERT: &str = "INSERT INTO tasks (id, title, body, status, role, lane, parent, priority, review_domains, branch, \
     commit_id, epoch, open_deps, created_at, updated_at, closed_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, (SELECT coalesce(max(epoch), 0) FROM restores), 0, \
     $12, $13, $14)";
const UPDATE_FIELDS: &str = "UPDATE tasks SET title = $2, body = $3, role = $4, lane = $5, parent = $6, priority = $7, \
     review_domains = $8, updated_at = $9 WHERE id = $1";
const UPDATE_STATE: &str = "UPDATE tasks SET status = $2, blocked_reason = $3, claimant = $4, claim_session = $5, \
     claim_role = $6, epoch = $7, claimed_at = $8, lease_until = $9, lease_ms = $10, closed_at = $11, updated_at = $12 \
     WHERE id = $1";
const UPDATE_LANE: &str = "UPDATE tasks SET lane = $2, updated_at = $3 WHERE id = $1";
const UPDATE_WORK: &str = "UPDATE tasks SET branch = $2, commit_id = $3, updated_at = $4 WHERE id = $1";
const COUNT_OPEN_DEPS: &str = "SELECT count(*) FROM task_deps d LEFT JOIN tasks t ON t.id = d.depends_on \
     WHERE d.task_id = $1 AND coalesce(t.status, 'absent') <> 'done'";
const SHIFT_OPEN_DEPS: &str = "UPDATE tasks SET open_deps = open_deps + $2 \
     WHERE id IN (SELECT task_id FROM task_deps WHERE depends_on = $1)";
const SET_OPEN_DEPS: &str = "UPDATE tasks SET open_deps = $2 WHERE id = $1";

/// Adds a task with its labels, paths, dependencies and checks. Its state may be todo, done or cancelled; [`set_state`] makes a
/// claim. `open_deps` is computed, also for existing tasks that depend on the new one.
/// Fails when the id is taken.
pub fn insert(tx: &WriteTx<'_>, task: &Task) -> Result<(), StoreError> {
    let fields = &task.fields;
    sql::execute(
        tx.conn(),
        INSERT,
        &[
            &task.id,
            &fields.title,
            &fields.body,
            &task.state.status().as_str(),
            &fields.role,
            &fields.lane,
            &fields.parent,
            &fields.priority,
            &join_domains(fields),
            &task.branch,
            &task.commit,
            &task.created_at,
            &task.updated_at,
            &task.state.closed_at().map(Timestamp::millis),
        ],
    )?;
    write_lists(tx, &task.id, fields)?;
    if task.state.status() == TaskStatus::Done {
        shift_open_deps(tx, &task.id, -1)?;
    }
    recount_open_deps(tx, &task.id)
}

/// Writes the fields of a task, and replaces its labels, paths, dependencies and checks.
pub fn set_fields(tx: &WriteTx<'_>, id: &TaskId, fields: &TaskFields) -> Result<(), StoreError> {
    sql::execute(
        tx.conn(),
        UPDATE_FIELDS,
        &[
            &id,
            &fields.title,
            &fields.body,
            &fields.role,
            &fields.lane,
            &fields.parent,
            &fields.priority,
            &join_domains(fields),
            &tx.now(),
        ],
    )?;
    for table in ["task_labels", "task_paths", "task_deps", "task_checks"] {
        sql::execute(tx.conn(), &format!("DELETE FROM {table} WHERE task_id = $1"), &[&id])?;
    }
    write_lists(tx, id, fields)?;
    recount_open_deps(tx, id)
}

pub(super) fn join_domains(fields: &TaskFields) -> String {
    fields.review_domains.iter().map(Label::as_str).collect::<Vec<_>>().join(" ")
}

fn write_lists(tx: &WriteTx<'_>, id: &TaskId, fields: &TaskFields) -> Result<(), StoreError> {
    let conn = tx.conn();
    for label in &fields.labels {
        sql::execute(conn, "INSERT INTO task_labels (task_id, label) VALUES ($1, $2)", &[&id, label])?;
    }
    for glob in &fields.paths {
        sql::execute(conn, "INSERT INTO task_paths (task_id, glob) VALUES ($1, $2)", &[&id, glob])?;
    }
    for on in &fields.depends_on {
        let insert = "INSERT INTO task_deps (task_id, depends_on) VALUES ($1, $2)";
        sql::execute(conn, insert, &[&id, &on])?;
    }
    for check in &fields.checks {
        let insert = "INSERT INTO task_checks (task_id, name, command) VALUES ($1, $2, $3)";
        sql::execute(conn, insert, &[&id, &check.name, &check.command])?;
    }
    Ok(())
}

/// Moves a task to a state. A claim in the state sets the task's epoch. Updates `open_deps` of the tasks that depend on this one.
pub fn set_state(tx: &WriteTx<'_>, task: &Task, state: &TaskState) -> Result<(), StoreError> {
    let claim = state.claim();
    let reason = match state {
        TaskState::Blocked(_, reason) => Some(reason.as_str()),
        _ => None,
    };
    let lease_ms =
        claim.and_then(|claim| claim.lease).map(|lease| i64::try_from(lease.as_millis()).unwrap_or(i64::MAX));
    sql::execute(
        tx.conn(),
        UPDATE_STATE,
        &[
            &task.id,
            &state.status().as_str(),
            &reason,
            &claim.map(|claim| claim.claimant.as_str()),
            &claim.and_then(|claim| claim.session.as_ref()).map(SessionId::as_str),
            &claim.and_then(|claim| claim.role.as_ref()).map(Role::as_str),
            &claim.map_or(task.epoch, |claim| claim.epoch.max(task.epoch)),
            &claim.map(|claim| claim.claimed_at.millis()),
            &claim.and_then(|claim| claim.lease_until).map(Timestamp::millis),
            &lease_ms,
            &state.closed_at().map(Timestamp::millis),
            &tx.now(),
        ],
    )?;
    match (task.state.status() == TaskStatus::Done, state.status() == TaskStatus::Done) {
        (false, true) => shift_open_deps(tx, &task.id, -1),
        (true, false) => shift_open_deps(tx, &task.id, 1),
        _ => Ok(()),
    }
}

/// Puts a task into a lane; `None` takes it out of its lane.
pub fn set_lane(tx: &WriteTx<'_>, id: &TaskId, lane: Option<&LaneName>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), UPDATE_LANE, &[&id, &lane, &tx.now()])?;
    Ok(())
}

pub fn set_work(tx: &WriteTx<'_>, id: &TaskId, branch: Option<&str>, commit: Option<&str>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), UPDATE_WORK, &[&id, &branch, &commit, &tx.now()])?;
    Ok(())
}

/// Changes the number of open dependencies of the tasks that depend on a task.
fn shift_open_deps(tx: &WriteTx<'_>, id: &TaskId, by: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), SHIFT_OPEN_DEPS, &[&id, &by])?;
    Ok(())
}

/// Counts the open dependencies of a task again.
fn recount_open_deps(tx: &WriteTx<'_>, id: &TaskId) -> Result<(), StoreError> {
    let open: i64 = sql::first(tx.conn(), COUNT_OPEN_DEPS, &[&id], |row| row.get(0))?.unwrap_or_default();
    sql::execute(tx.conn(), SET_OPEN_DEPS, &[&id, &open])?;
    Ok(())
}
