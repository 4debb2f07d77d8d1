//! Landings as rows.

use super::sql::columns::{columns, text};
use super::sql::{self, Row, Statement};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::landing::{LandStyle, Landing};
use crate::domain::{LaneName, TaskId};

columns! {
    Landing {
        id, tasks;
        lane, commit = "commit_id", style, base, base_before, candidate, state, push_to, error, started_at, ended_at, host,
        host_id,
    }
}

const SELECT: &str = text!("SELECT ", COLUMNS, " FROM landings ");
const UNFINISHED: &str = text!(SELECT, "WHERE ended_at IS NULL ORDER BY id");
const NEWEST_OF: &str = text!(SELECT, "WHERE commit_id = $1 AND base = $2 AND style = $3 ORDER BY id DESC LIMIT 1");
const NEWEST: &str = text!(SELECT, "ORDER BY id DESC LIMIT $1");
const LANDED_IN: &str = text!(SELECT, "WHERE state = 'landed' AND base = $1 ORDER BY id DESC LIMIT $2");
/// A failed landing of a base's own commit, if no later landing is into the same base.
const STOPPED: &str = text!(
    SELECT,
    "WHERE state = 'failed' AND commit_id = base_before AND NOT EXISTS (SELECT 1 FROM landings AS later WHERE later.base = \
     landings.base AND later.id > landings.id) ORDER BY id"
);
const UNLANDED_IN: &str = "SELECT id FROM tasks WHERE lane = $1 AND landed_commit IS NULL AND status <> 'cancelled' \
     ORDER BY priority, created_at, id";
const IN_REVIEW: &str = "SELECT id FROM tasks INDEXED BY tasks_held WHERE claimant IS NOT NULL AND status = 'review' \
     ORDER BY priority, created_at, id";
const DONE_IN_LANES: &str = "SELECT id FROM tasks WHERE status = 'done' AND lane IS NOT NULL AND commit_id IS NOT NULL \
     AND landed_commit IS NULL ORDER BY priority, created_at, id";
const INSERT: &str = text!("INSERT INTO landings (", WRITTEN, ", tasks) VALUES (", PLACEHOLDERS, ", $14) RETURNING id");
const UPDATE: &str =
    "UPDATE landings SET candidate = $2, state = $3, error = $4, ended_at = $5, push_to = $6 WHERE id = $1";
// The landings with which the dependencies of these tasks landed, also those of this host.
macro_rules! of_dependencies {
    ($these:literal) => {
        concat!(
            "SELECT d.task_id, d.depends_on, l.candidate, l.base, l.host, l.host_id, l.push_to FROM task_deps d \
             JOIN tasks t ON t.id = d.depends_on JOIN landings l ON l.candidate = t.landed_commit \
             WHERE d.task_id ",
            $these,
            " AND t.status = 'done' AND l.state = 'landed' ORDER BY d.task_id, d.depends_on, l.id"
        )
    };
}
const OF_DEPENDENCIES: Statement<'_> = Statement {
    sqlite: of_dependencies!("IN (SELECT value FROM json_each('[\"' || replace($1, ' ', '\",\"') || '\"]'))"),
    postgres: of_dependencies!("= ANY (string_to_array($1, ' '))"),
};
macro_rules! ready_dependents {
    ($these:literal) => {
        concat!(
            "SELECT t.id, d.depends_on FROM task_deps d JOIN tasks t ON t.id = d.task_id WHERE d.depends_on ",
            $these,
            " AND t.status = 'todo' AND t.open_deps = 0 ORDER BY t.id, d.depends_on"
        )
    };
}
const READY_DEPENDENTS: Statement<'_> = Statement {
    sqlite: ready_dependents!("IN (SELECT value FROM json_each('[\"' || replace($1, ' ', '\",\"') || '\"]'))"),
    postgres: ready_dependents!("= ANY (string_to_array($1, ' '))"),
};
const NEWEST_ELSEWHERE: &str =
    text!(SELECT, "WHERE state = 'landed' AND host_id IS NOT NULL AND host_id <> $1 ORDER BY id DESC LIMIT $2");
const SET_LANDED: &str = "UPDATE tasks SET landed_commit = $2, updated_at = $3 WHERE id = $1";
const LANDED_COMMIT: &str = "SELECT landed_commit FROM tasks WHERE id = $1";

/// Tasks with their epochs, as a column has them.
pub(super) fn tasks_text(tasks: &[(TaskId, i64)]) -> String {
    let tasks: Vec<_> = tasks.iter().map(|(id, epoch)| serde_json::json!([id.as_str(), epoch])).collect();
    serde_json::Value::from(tasks).to_string()
}

/// Removes a landing that became a pull request.
pub fn remove(tx: &WriteTx<'_>, id: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), "DELETE FROM landings WHERE id = $1", &[&id])?;
    Ok(())
}

/// Adds a landing; the store sets its id and the time of its start.
pub fn insert(tx: &WriteTx<'_>, landing: Landing) -> Result<Landing, StoreError> {
    let landing = Landing { started_at: tx.now(), ..landing };
    let tasks = tasks_text(&landing.tasks);
    let mut all = values(&landing);
    all.push(&tasks);
    let id = sql::first(tx.conn(), INSERT, &all, |row| row.get(0))?;
    Ok(Landing { id: id.unwrap_or_default(), ..landing })
}

/// Writes those columns of a landing that change: its candidate, state, error, time of its end, and the target of its push.
pub fn update(tx: &WriteTx<'_>, landing: &Landing) -> Result<(), StoreError> {
    sql::execute(
        tx.conn(),
        UPDATE,
        &[&landing.id, &landing.candidate, &landing.state, &landing.error, &landing.ended_at, &landing.push_to],
    )?;
    Ok(())
}

/// The landings that have not ended, oldest first.
pub fn unfinished(tx: &ReadTx<'_>) -> Result<Vec<Landing>, StoreError> {
    sql::rows(tx.conn(), UNFINISHED, &[], read)
}

/// The landings that found a base on which a command fails without any new work. Nothing lands into such a base.
pub fn stopped(tx: &ReadTx<'_>) -> Result<Vec<Landing>, StoreError> {
    sql::rows(tx.conn(), STOPPED, &[], read)
}

pub fn newest_of(tx: &ReadTx<'_>, commit: &str, base: &str, style: LandStyle) -> Result<Option<Landing>, StoreError> {
    sql::first(tx.conn(), NEWEST_OF, &[&commit, &base, &style], read)
}

/// The newest landings, newest first, at most `limit`.
pub fn newest(tx: &ReadTx<'_>, limit: i64) -> Result<Vec<Landing>, StoreError> {
    sql::rows(tx.conn(), NEWEST, &[&limit], read)
}

/// The successful landings into a base, newest first, at most `limit`.
pub fn landed_in(tx: &ReadTx<'_>, base: &str, limit: i64) -> Result<Vec<Landing>, StoreError> {
    sql::rows(tx.conn(), LANDED_IN, &[&base, &limit], read)
}

/// The landings of hosts other than `host_id`, newest first, at most `limit`.
pub fn newest_elsewhere(tx: &ReadTx<'_>, host_id: &str, limit: i64) -> Result<Vec<Landing>, StoreError> {
    sql::rows(tx.conn(), NEWEST_ELSEWHERE, &[&host_id, &limit], read)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedDependency {
    pub task: TaskId,
    pub depends_on: TaskId,
    /// The commit of the base that has its work.
    pub commit: String,
    pub base: String,
    /// The name of the host in whose repository it landed.
    pub host: Option<String>,
    pub host_id: Option<String>,
    /// Where it was pushed, such as `origin/main`.
    pub push_to: Option<String>,
}

/// The landings of those dependencies of these tasks that are done, by task and dependency.
pub fn of_dependencies(tx: &ReadTx<'_>, tasks: &[&TaskId]) -> Result<Vec<LandedDependency>, StoreError> {
    let ids: Vec<&str> = tasks.iter().map(|id| id.as_str()).collect();
    sql::rows(tx.conn(), OF_DEPENDENCIES, &[&ids.join(" ")], |row| {
        Ok(LandedDependency {
            task: read_id(row)?,
            depends_on: row.get(1)?,
            commit: row.get(2)?,
            base: row.get(3)?,
            host: row.get(4)?,
            host_id: row.get(5)?,
            push_to: row.get(6)?,
        })
    })
}

/// The ready tasks that depend on one of the tasks `on`, each paired with that dependency.
pub fn ready_dependents(tx: &ReadTx<'_>, on: &[&TaskId]) -> Result<Vec<(TaskId, TaskId)>, StoreError> {
    if on.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<&str> = on.iter().map(|id| id.as_str()).collect();
    sql::rows(tx.conn(), READY_DEPENDENTS, &[&ids.join(" ")], |row| Ok((read_id(row)?, row.get::<TaskId>(1)?)))
}

/// Records the commit with which a task landed; `None` records that its work is no longer landed.
pub fn set_landed_commit(tx: &WriteTx<'_>, task: &TaskId, commit: Option<&str>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), SET_LANDED, &[&task, &commit, &tx.now()])?;
    Ok(())
}

/// The commit with which a task landed; `None` when it did not.
pub fn landed_commit(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<String>, StoreError> {
    Ok(sql::first(tx.conn(), LANDED_COMMIT, &[&task], |row| row.get(0))?.flatten())
}

/// The tasks of a lane that have not landed and are not cancelled, by priority, age and id.
pub fn unlanded_in(tx: &ReadTx<'_>, lane: &LaneName) -> Result<Vec<TaskId>, StoreError> {
    sql::rows(tx.conn(), UNLANDED_IN, &[&lane], read_id)
}

/// The tasks in review, by priority, age and id.
pub fn in_review(tx: &ReadTx<'_>) -> Result<Vec<TaskId>, StoreError> {
    sql::rows(tx.conn(), IN_REVIEW, &[], read_id)
}

/// The done tasks of lanes that have a commit and have not landed, by priority, age and id.
pub fn done_in_lanes(tx: &ReadTx<'_>) -> Result<Vec<TaskId>, StoreError> {
    sql::rows(tx.conn(), DONE_IN_LANES, &[], read_id)
}

fn read_id(row: &Row<'_>) -> Result<TaskId, StoreError> {
    row.get::<TaskId>(0)
}
