//! Many tasks at once: a few statements for all of them, where a server would be asked some times for each.

use std::collections::BTreeSet;

use serde::Serialize;

use super::row::{self, FIELD_SEPARATOR, ITEM_SEPARATOR, columns};
use super::write::join_domains;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::{LaneName, Role, TaskId};
use crate::env::Timestamp;
use crate::store::sql::{self, Statement, json_of, json_rows, json_texts};
use crate::store::{ReadTx, StoreError, WriteTx};

/// How many tasks one statement reads or writes.
const AT_ONCE: usize = 500;

const FIND: Statement<'_> = Statement {
    sqlite: columns!("", "", "", "", "FROM tasks t WHERE t.id IN (SELECT value FROM json_each($3))"),
    postgres: columns!(
        " ORDER BY label",
        " ORDER BY glob",
        " ORDER BY depends_on",
        " ORDER BY name",
        "FROM tasks t WHERE t.id IN (SELECT value FROM json_array_elements_text($3::json))"
    ),
};
const EXISTING: Statement<'_> = json_texts!("SELECT id FROM tasks WHERE id IN (SELECT value FROM ", "$1", ")");
const DONE: Statement<'_> =
    json_texts!("SELECT id FROM tasks WHERE status = 'done' AND id IN (SELECT value FROM ", "$1", ")");
const SHIFT_OPEN_DEPS: Statement<'_> = json_texts!(
    "UPDATE tasks SET open_deps = open_deps - closed FROM (SELECT task_id, count(*) AS closed FROM task_deps \
     WHERE depends_on IN (SELECT value FROM ",
    "$1",
    ") GROUP BY task_id) AS of_task WHERE id = of_task.task_id"
);
const INSERT: Statement<'_> = json_rows!(
    "INSERT INTO tasks (id, title, body, status, role, lane, parent, priority, review_domains, branch, commit_id, epoch, \
     open_deps, created_at, updated_at, closed_at) \
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, \
     CAST(value ->> 7 AS BIGINT), value ->> 8, value ->> 9, value ->> 10, (SELECT coalesce(max(epoch), 0) FROM restores), \
     CAST(value ->> 11 AS BIGINT), CAST(value ->> 12 AS BIGINT), CAST(value ->> 13 AS BIGINT), \
     CAST(value ->> 14 AS BIGINT) FROM ",
    ""
);
const INSERT_LABELS: Statement<'_> =
    json_rows!("INSERT INTO task_labels (task_id, label) SELECT value ->> 0, value ->> 1 FROM ", "");
const INSERT_PATHS: Statement<'_> =
    json_rows!("INSERT INTO task_paths (task_id, glob) SELECT value ->> 0, value ->> 1 FROM ", "");
const INSERT_DEPENDENCIES: Statement<'_> =
    json_rows!("INSERT INTO task_deps (task_id, depends_on) SELECT value ->> 0, value ->> 1 FROM ", "");
const INSERT_CHECKS: Statement<'_> = json_rows!(
    "INSERT INTO task_checks (task_id, name, command) SELECT value ->> 0, value ->> 1, value ->> 2 FROM ",
    ""
);

/// Passes the existing tasks among these ids to `see`, in no particular order.
pub fn for_each_of(
    tx: &ReadTx<'_>,
    ids: &[&TaskId],
    mut see: impl FnMut(Task) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for ids in ids.chunks(AT_ONCE) {
        let ids = json_of(&ids.iter().map(|id| id.as_str()).collect::<Vec<_>>())?;
        for task in sql::rows(tx.conn(), FIND, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR, &ids], row::read)? {
            see(task)?;
        }
    }
    Ok(())
}

/// Selects from `ids` those for which there is a task.
pub fn existing(tx: &ReadTx<'_>, ids: &[&TaskId]) -> Result<BTreeSet<TaskId>, StoreError> {
    among(tx, EXISTING, ids)
}

fn among(tx: &ReadTx<'_>, query: Statement<'_>, ids: &[&TaskId]) -> Result<BTreeSet<TaskId>, StoreError> {
    let mut found = BTreeSet::new();
    for ids in ids.chunks(AT_ONCE) {
        let ids = json_of(&ids.iter().map(|id| id.as_str()).collect::<Vec<_>>())?;
        found.extend(sql::rows(tx.conn(), query, &[&ids], |row| row.get::<TaskId>(0))?);
    }
    Ok(found)
}

/// Adds tasks as [`super::insert`] adds one, with labels, paths, dependencies and checks.
/// Fails when an id is taken.
pub fn insert_all(tx: &WriteTx<'_>, tasks: &[&Task]) -> Result<(), StoreError> {
    tasks.chunks(AT_ONCE).try_for_each(|tasks| insert_some(tx, tasks))
}

fn insert_some(tx: &WriteTx<'_>, tasks: &[&Task]) -> Result<(), StoreError> {
    let here: BTreeSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let dependencies = || tasks.iter().flat_map(|task| &task.fields.depends_on);
    let elsewhere: BTreeSet<&TaskId> = dependencies().filter(|on| !here.contains(on)).collect();
    let mut done = among(tx, DONE, &elsewhere.into_iter().collect::<Vec<_>>())?;
    let done_here: Vec<&TaskId> =
        tasks.iter().filter(|task| task.state.status() == TaskStatus::Done).map(|task| &task.id).collect();
    done.extend(done_here.iter().map(|id| (*id).clone()));
    // Tasks that came before, and waited for one that is done when it comes.
    if !done_here.is_empty() {
        let ids = json_of(&done_here.iter().map(|id| id.as_str()).collect::<Vec<_>>())?;
        sql::execute(tx.conn(), SHIFT_OPEN_DEPS, &[&ids])?;
    }
    insert_rows(tx, INSERT, &tasks.iter().map(|task| task_row(task, &done)).collect::<Vec<_>>())?;
    let (mut labels, mut paths, mut links, mut checks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for task in tasks {
        let (id, fields) = (task.id.as_str(), &task.fields);
        labels.extend(fields.labels.iter().map(|label| (id, label.as_str())));
        paths.extend(fields.paths.iter().map(|glob| (id, glob.as_str())));
        links.extend(fields.depends_on.iter().map(|on| (id, on.as_str())));
        checks.extend(fields.checks.iter().map(|check| (id, check.name.as_str(), check.command.as_str())));
    }
    insert_rows(tx, INSERT_LABELS, &labels)?;
    insert_rows(tx, INSERT_PATHS, &paths)?;
    insert_rows(tx, INSERT_DEPENDENCIES, &links)?;
    insert_rows(tx, INSERT_CHECKS, &checks)
}

fn insert_rows(tx: &WriteTx<'_>, insert: Statement<'_>, rows: &[impl Serialize]) -> Result<(), StoreError> {
    if !rows.is_empty() {
        sql::execute(tx.conn(), insert, &[&json_of(&rows)?])?;
    }
    Ok(())
}

fn task_row<'t>(task: &'t Task, done: &BTreeSet<TaskId>) -> impl Serialize + use<'t> {
    let fields = &task.fields;
    let open_deps = fields.depends_on.iter().filter(|on| !done.contains(*on)).count();
    (
        task.id.as_str(),
        &fields.title,
        &fields.body,
        task.state.status().as_str(),
        fields.role.as_ref().map(Role::as_str),
        fields.lane.as_ref().map(LaneName::as_str),
        fields.parent.as_ref().map(TaskId::as_str),
        fields.priority,
        join_domains(fields),
        &task.branch,
        &task.commit,
        open_deps,
        task.created_at.millis(),
        task.updated_at.millis(),
        task.state.closed_at().map(Timestamp::millis),
    )
}
