//! Tasks as rows.

use std::time::Duration;

use super::{
    ReadTx, StoreError, WriteTx,
    sql::{self, Row, Statement, ToValue},
};
use crate::{
    domain::{
        LaneName, Role, SessionId, TaskId,
        claim::Claim,
        id::Label,
        rules::claim::HeldPaths,
        task::{Check, NotReadyReason, Task, TaskFields, TaskState, TaskStatus, TaskSummary},
    },
    env::Timestamp,
};

/// Separates the items of a list in one column. Input validation excludes control characters.
const ITEM_SEPARATOR: &str = "\u{1f}";
/// Separates the two halves of an item.
const FIELD_SEPARATOR: &str = "\u{1e}";

// Every query of whole tasks binds ITEM as $1 and HALF as $2. A list is in the order of its items: SQLite reads it so from the
// primary key, PostgreSQL in any order.
macro_rules! columns {
    ($label:literal, $path:literal, $dependency:literal, $check:literal, $rest:expr) => {
        concat!(
            "SELECT t.id, t.title, t.body, t.status, t.role, t.lane, t.parent, t.priority, t.review_domains, t.branch, ",
            "t.commit_id, t.blocked_reason, t.claimant, t.claim_session, t.claim_role, t.epoch, t.claimed_at, ",
            "t.lease_until, t.lease_ms, t.open_deps, t.created_at, t.updated_at, t.closed_at, ",
            "(SELECT string_agg(label, $1",
            $label,
            ") FROM task_labels WHERE task_id = t.id), (SELECT string_agg(glob, $1",
            $path,
            ") FROM task_paths WHERE task_id = t.id), (SELECT string_agg(depends_on, $1",
            $dependency,
            ") FROM task_deps WHERE task_id = t.id), (SELECT string_agg(name || $2 || command, $1",
            $check,
            ") FROM task_checks WHERE task_id = t.id) ",
            $rest
        )
    };
}
macro_rules! select {
    ($rest:expr) => {
        Statement {
            sqlite: columns!("", "", "", "", $rest),
            postgres: columns!(" ORDER BY label", " ORDER BY glob", " ORDER BY depends_on", " ORDER BY name", $rest),
        }
    };
}

const ONE: Statement<'_> = select!("FROM tasks t WHERE t.id = $3");
// The ready tasks of a role, $3, and a lane, $4, in claim order.
macro_rules! ready {
    () => {
        "FROM tasks t INDEXED BY tasks_ready WHERE t.status = 'todo' AND t.open_deps = 0 \
         AND ($3 IS NULL OR t.role IS NULL OR t.role = $3) AND ($4 IS NULL OR t.lane IS NULL OR t.lane = $4) \
         ORDER BY t.priority, t.created_at, t.id"
    };
}
const READY: Statement<'_> = select!(ready!());
const READY_SUMMARIES: &str = concat!("SELECT t.id, t.title, t.role, t.lane, t.priority ", ready!());
const READY_IN_LANE: Statement<'_> = select!(
    "FROM tasks t INDEXED BY tasks_ready WHERE t.status = 'todo' AND t.open_deps = 0 AND t.lane IS NOT DISTINCT FROM $3 \
     ORDER BY t.priority, t.created_at, t.id"
);
const READY_ELSEWHERE: Statement<'_> = select!(
    "FROM tasks t INDEXED BY tasks_ready WHERE t.status = 'todo' AND t.open_deps = 0 AND t.lane <> $3 \
     ORDER BY t.priority, t.created_at, t.id"
);
const OPEN: Statement<'_> =
    select!("FROM tasks t INDEXED BY tasks_open WHERE t.closed_at IS NULL ORDER BY t.priority, t.created_at, t.id");
const ALL: Statement<'_> = select!("FROM tasks t ORDER BY t.priority, t.created_at, t.id");
const BY_ID: Statement<'_> = select!("FROM tasks t ORDER BY t.id");
const HELD: Statement<'_> =
    select!("FROM tasks t INDEXED BY tasks_held WHERE t.claimant IS NOT NULL ORDER BY t.lane NULLS FIRST, t.id");
const EXPIRED: Statement<'_> = select!(
    "FROM tasks t INDEXED BY tasks_held WHERE t.claimant IS NOT NULL AND t.lease_until <= $3 \
     ORDER BY t.priority, t.created_at, t.id"
);
const CHILDREN: Statement<'_> = select!("FROM tasks t WHERE t.parent = $3 ORDER BY t.priority, t.created_at, t.id");
const HELD_PATHS: &str = "SELECT t.id, t.claimant, string_agg(p.glob, $1) FROM tasks t INDEXED BY tasks_held \
     JOIN task_paths p ON p.task_id = t.id WHERE t.claimant IS NOT NULL AND t.claimant <> $2 GROUP BY t.id, t.claimant";
const HELD_IN_LANE: &str =
    "SELECT count(*) FROM tasks INDEXED BY tasks_held WHERE claimant IS NOT NULL AND lane = $1 AND id <> $2";
const HELD_BY: &str = "SELECT id, lane FROM tasks INDEXED BY tasks_held WHERE claimant IS NOT NULL AND claimant = $1 \
     ORDER BY claimed_at DESC, id LIMIT 1";
const WAITING: &str = "SELECT d.depends_on, t.status FROM task_deps d LEFT JOIN tasks t ON t.id = d.depends_on \
     WHERE d.task_id = $1 ORDER BY d.depends_on";
const DEPENDENTS: &str = "SELECT t.id, t.status FROM task_deps d JOIN tasks t ON t.id = d.task_id \
     WHERE d.depends_on = $1 ORDER BY t.id";
const EXISTS: &str = "SELECT 1 FROM tasks WHERE id = $1";
const DEPENDENCIES: &str = "SELECT depends_on FROM task_deps WHERE task_id = $1 ORDER BY depends_on";
const PARENT: &str = "SELECT parent FROM tasks WHERE id = $1 AND parent IS NOT NULL";
const COUNT_OPEN_DEPS: &str = "SELECT count(*) FROM task_deps d LEFT JOIN tasks t ON t.id = d.depends_on \
     WHERE d.task_id = $1 AND coalesce(t.status, 'absent') <> 'done'";
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
const SHIFT_OPEN_DEPS: &str = "UPDATE tasks SET open_deps = open_deps + $2 \
     WHERE id IN (SELECT task_id FROM task_deps WHERE depends_on = $1)";
const SET_OPEN_DEPS: &str = "UPDATE tasks SET open_deps = $2 WHERE id = $1";
const RENEW_LEASES: &str = "UPDATE tasks SET lease_until = $2 + lease_ms \
     WHERE claimant = $1 AND claimant IS NOT NULL AND lease_until IS NOT NULL AND ($3 IS NULL OR id = $3)";
const NEWEST_NUMBERED: &str = "SELECT id FROM tasks INDEXED BY tasks_number WHERE length(id) = $1 AND id >= $2 AND id < $3 \
     ORDER BY id DESC";
const SPELLED_ALIKE: &str =
    "SELECT id FROM tasks WHERE lower(replace(id, '-', '')) = lower(replace($1, '-', '')) ORDER BY id LIMIT 3";
const NEAR: &str = "SELECT id FROM tasks WHERE id >= $1 ORDER BY id LIMIT 200";

fn read(row: &Row<'_>) -> Result<Task, StoreError> {
    let at = |column: usize| row.get::<Option<i64>>(column).map(|millis| millis.map(Timestamp::from_millis));
    let list = |column: usize| -> Result<Vec<String>, StoreError> {
        let text: Option<String> = row.get(column)?;
        Ok(text.map(|text| text.split(ITEM_SEPARATOR).map(str::to_owned).collect()).unwrap_or_default())
    };
    let id = sql::parse_id("a task id", &row.get::<String>(0)?, TaskId::parse)?;
    let status = sql::parse_value("a task's status", &row.get::<String>(3)?, TaskStatus::parse)?;
    let checks = list(26)?
        .into_iter()
        .filter_map(|item| {
            item.split_once(FIELD_SEPARATOR).map(|(name, command)| (name.to_owned(), command.to_owned()))
        })
        .map(|(name, command)| Ok(Check { name: sql::parse_id("a check's name", &name, Label::parse)?, command }))
        .collect::<Result<_, StoreError>>()?;
    let fields = TaskFields {
        title: row.get(1)?,
        body: row.get(2)?,
        role: sql::parse_optional_id("a role", row.get(4)?, Role::parse)?,
        lane: sql::parse_optional_id("a lane", row.get(5)?, LaneName::parse)?,
        parent: sql::parse_optional_id("a task id", row.get(6)?, TaskId::parse)?,
        priority: row.get(7)?,
        labels: list(23)?,
        paths: list(24)?,
        depends_on: list(25)?
            .iter()
            .map(|text| sql::parse_id("a task id", text, TaskId::parse))
            .collect::<Result<_, _>>()?,
        checks,
        review_domains: row
            .get::<String>(8)?
            .split_whitespace()
            .map(|text| sql::parse_id("a review domain", text, Label::parse))
            .collect::<Result<_, _>>()?,
    };
    let epoch = row.get(15)?;
    let claim = || -> Result<Claim, StoreError> {
        Ok(Claim {
            claimant: row.get(12)?,
            session: sql::parse_optional_id("a session id", row.get(13)?, SessionId::parse)?,
            role: sql::parse_optional_id("a role", row.get(14)?, Role::parse)?,
            epoch,
            claimed_at: Timestamp::from_millis(row.get(16)?),
            lease_until: at(17)?,
            lease: row
                .get::<Option<i64>>(18)?
                .map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or_default())),
        })
    };
    let closed_at = || -> Result<Timestamp, StoreError> { Ok(Timestamp::from_millis(row.get(22)?)) };
    let state = match status {
        TaskStatus::Todo => TaskState::Todo,
        TaskStatus::InProgress => TaskState::InProgress(claim()?),
        TaskStatus::Blocked => TaskState::Blocked(claim()?, row.get(11)?),
        TaskStatus::Review => TaskState::Review(claim()?),
        TaskStatus::Done => TaskState::Done(closed_at()?),
        TaskStatus::Cancelled => TaskState::Cancelled(closed_at()?),
    };
    Ok(Task {
        id,
        fields,
        state,
        epoch,
        open_deps: row.get(19)?,
        branch: row.get(9)?,
        commit: row.get(10)?,
        created_at: Timestamp::from_millis(row.get(20)?),
        updated_at: Timestamp::from_millis(row.get(21)?),
    })
}

/// The task of this id.
///
/// # Errors
/// As the store fails.
pub fn find(tx: &ReadTx<'_>, id: &TaskId) -> Result<Option<Task>, StoreError> {
    sql::first(tx.conn(), ONE, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR, &id.as_str()], read)
}

/// Whether there is a task of this id.
///
/// # Errors
/// As the store fails.
pub fn exists(tx: &ReadTx<'_>, id: &TaskId) -> Result<bool, StoreError> {
    Ok(sql::first(tx.conn(), EXISTS, &[&id.as_str()], |_| Ok(()))?.is_some())
}

/// The dependencies of a task, by id; empty for an unknown task.
///
/// # Errors
/// As the store fails.
pub fn dependencies(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    let read = |row: &Row<'_>| sql::parse_id("a task id", &row.get::<String>(0)?, TaskId::parse);
    sql::rows(tx.conn(), DEPENDENCIES, &[&id.as_str()], read)
}

/// The parent of a task.
///
/// # Errors
/// As the store fails.
pub fn parent(tx: &ReadTx<'_>, id: &TaskId) -> Result<Option<TaskId>, StoreError> {
    let read = |row: &Row<'_>| sql::parse_id("a task id", &row.get::<String>(0)?, TaskId::parse);
    sql::first(tx.conn(), PARENT, &[&id.as_str()], read)
}

/// The tasks of a listing before its filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListScope {
    /// Open tasks: neither done nor cancelled.
    Open,
    /// All tasks, by priority, age and id.
    All,
    /// All tasks, by id.
    ById,
    /// Claimed tasks.
    Claimed,
}

/// Passes tasks to `see`, by priority, age and id, until `see` returns `false`.
///
/// # Errors
/// As the store fails.
pub fn for_each(
    tx: &ReadTx<'_>,
    range: ListScope,
    mut see: impl FnMut(Task) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let query = match range {
        ListScope::Open => OPEN,
        ListScope::All => ALL,
        ListScope::ById => BY_ID,
        ListScope::Claimed => HELD,
    };
    sql::for_each(tx.conn(), query, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR], |row| see(read(row)?))
}

/// Passes the ready tasks of a role and a lane to `see`, in claim order, until `see` returns `false`, probably after so many.
///
/// # Errors
/// As the store fails.
pub fn for_each_ready(
    tx: &ReadTx<'_>,
    role: Option<&Role>,
    lane: Option<&LaneName>,
    expected: usize,
    mut see: impl FnMut(Task) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let (role, lane) = (role.map(Role::as_str), lane.map(LaneName::as_str));
    let values: [&dyn ToValue; 4] = [&ITEM_SEPARATOR, &FIELD_SEPARATOR, &role, &lane];
    sql::for_each_expecting(tx.conn(), READY, &values, expected, |row| see(read(row)?))
}

/// Passes the summaries of the ready tasks of a role and a lane to `see`, in claim order, until `see` returns `false`, probably
/// after so many. It reads one table, where whole tasks need five.
///
/// # Errors
/// As the store fails.
pub fn for_each_ready_summary(
    tx: &ReadTx<'_>,
    role: Option<&Role>,
    lane: Option<&LaneName>,
    expected: usize,
    mut see: impl FnMut(TaskSummary) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let (role, lane) = (role.map(Role::as_str), lane.map(LaneName::as_str));
    let values: [&dyn ToValue; 4] = [&ITEM_SEPARATOR, &FIELD_SEPARATOR, &role, &lane];
    sql::for_each_expecting(tx.conn(), READY_SUMMARIES, &values, expected, |row| {
        see(TaskSummary {
            id: sql::parse_id("a task id", &row.get::<String>(0)?, TaskId::parse)?,
            title: row.get(1)?,
            status: TaskStatus::Todo,
            role: sql::parse_optional_id("a role", row.get(2)?, Role::parse)?,
            lane: sql::parse_optional_id("a lane", row.get(3)?, LaneName::parse)?,
            priority: row.get(4)?,
        })
    })
}

/// The lanes of ready tasks.
#[derive(Debug, Clone, Copy)]
pub enum ReadyScope<'a> {
    /// This lane.
    In(&'a LaneName),
    /// No lane.
    WithoutLane,
    /// Every other lane than this one.
    Elsewhere(&'a LaneName),
    /// All tasks.
    Everywhere,
}

/// The ready tasks that a claim probably looks at: most claims take the first.
const CANDIDATES: usize = 2;

/// Passes the ready tasks of some lanes to `see`, in claim order, until `see` returns `false`.
///
/// # Errors
/// As the store fails.
pub fn for_each_ready_in(
    tx: &ReadTx<'_>,
    scope: ReadyScope<'_>,
    mut see: impl FnMut(Task) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let (query, lane) = match scope {
        ReadyScope::In(lane) => (READY_IN_LANE, Some(lane.as_str())),
        ReadyScope::WithoutLane => (READY_IN_LANE, None),
        ReadyScope::Elsewhere(lane) => (READY_ELSEWHERE, Some(lane.as_str())),
        ReadyScope::Everywhere => return for_each_ready(tx, None, None, CANDIDATES, see),
    };
    let values: [&dyn ToValue; 3] = [&ITEM_SEPARATOR, &FIELD_SEPARATOR, &lane];
    sql::for_each_expecting(tx.conn(), query, &values, CANDIDATES, |row| see(read(row)?))
}

/// The claimed tasks with an expired lease, in claim order.
///
/// # Errors
/// As the store fails.
pub fn expired(tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Task>, StoreError> {
    sql::rows(tx.conn(), EXPIRED, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR, &now.millis()], read)
}

/// The children of a task.
///
/// # Errors
/// As the store fails.
pub fn children(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<Task>, StoreError> {
    sql::rows(tx.conn(), CHILDREN, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR, &id.as_str()], read)
}

/// The path globs of all tasks that others than `claimant` have claimed.
///
/// # Errors
/// As the store fails.
pub fn held_paths(tx: &ReadTx<'_>, claimant: &str) -> Result<Vec<HeldPaths>, StoreError> {
    sql::rows(tx.conn(), HELD_PATHS, &[&ITEM_SEPARATOR, &claimant], |row| {
        Ok(HeldPaths {
            task: sql::parse_id("a task id", &row.get::<String>(0)?, TaskId::parse)?,
            claimant: row.get(1)?,
            paths: row.get::<String>(2)?.split(ITEM_SEPARATOR).map(str::to_owned).collect(),
        })
    })
}

/// The claimant's most recently claimed task that is still theirs, and its lane.
///
/// # Errors
/// As the store fails.
pub fn last_claimed_by(tx: &ReadTx<'_>, claimant: &str) -> Result<Option<(TaskId, Option<LaneName>)>, StoreError> {
    sql::first(tx.conn(), HELD_BY, &[&claimant], |row| {
        let id = sql::parse_id("a task id", &row.get::<String>(0)?, TaskId::parse)?;
        Ok((id, sql::parse_optional_id("a lane", row.get(1)?, LaneName::parse)?))
    })
}

/// The number of claimed tasks in a lane, without `except`.
///
/// # Errors
/// As the store fails.
pub fn held_in_lane(tx: &ReadTx<'_>, lane: &LaneName, except: Option<&TaskId>) -> Result<i64, StoreError> {
    let except = except.map_or("", TaskId::as_str);
    let count = sql::first(tx.conn(), HELD_IN_LANE, &[&lane.as_str(), &except], |row| row.get(0))?;
    Ok(count.unwrap_or_default())
}

/// The open dependencies of a task.
///
/// # Errors
/// As the store fails.
pub fn waiting_on(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<NotReadyReason>, StoreError> {
    let found = sql::rows(tx.conn(), WAITING, &[&id.as_str()], |row| {
        let on = sql::parse_id("a task id", &row.get::<String>(0)?, TaskId::parse)?;
        let status = row
            .get::<Option<String>>(1)?
            .map(|text| sql::parse_value("a task's status", &text, TaskStatus::parse))
            .transpose()?;
        Ok(NotReadyReason::for_dependency(on, status))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// The tasks that depend on a task, with their statuses.
///
/// # Errors
/// As the store fails.
pub fn dependents(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<(TaskId, TaskStatus)>, StoreError> {
    sql::rows(tx.conn(), DEPENDENTS, &[&id.as_str()], |row| {
        let status = sql::parse_value("a task's status", &row.get::<String>(1)?, TaskStatus::parse)?;
        Ok((sql::parse_id("a task id", &row.get::<String>(0)?, TaskId::parse)?, status))
    })
}

/// Adds a task with its lists. Its state may be todo, done or cancelled; [`set_state`] makes a claim. `open_deps`
/// is computed, also for existing tasks that depend on the new one.
///
/// # Errors
/// As the store fails, also when the id is taken.
pub fn insert(tx: &WriteTx<'_>, task: &Task) -> Result<(), StoreError> {
    let fields = &task.fields;
    sql::execute(
        tx.conn(),
        INSERT,
        &[
            &task.id.as_str(),
            &fields.title,
            &fields.body,
            &task.state.status().as_str(),
            &fields.role.as_ref().map(Role::as_str),
            &fields.lane.as_ref().map(LaneName::as_str),
            &fields.parent.as_ref().map(TaskId::as_str),
            &fields.priority,
            &join_domains(fields),
            &task.branch,
            &task.commit,
            &task.created_at.millis(),
            &task.updated_at.millis(),
            &task.state.closed_at().map(Timestamp::millis),
        ],
    )?;
    write_lists(tx, &task.id, fields)?;
    if task.state.status() == TaskStatus::Done {
        shift_open_deps(tx, &task.id, -1)?;
    }
    recount_open_deps(tx, &task.id)
}

/// Writes the fields of a task, with its lists.
///
/// # Errors
/// As the store fails.
pub fn set_fields(tx: &WriteTx<'_>, id: &TaskId, fields: &TaskFields) -> Result<(), StoreError> {
    sql::execute(
        tx.conn(),
        UPDATE_FIELDS,
        &[
            &id.as_str(),
            &fields.title,
            &fields.body,
            &fields.role.as_ref().map(Role::as_str),
            &fields.lane.as_ref().map(LaneName::as_str),
            &fields.parent.as_ref().map(TaskId::as_str),
            &fields.priority,
            &join_domains(fields),
            &tx.now().millis(),
        ],
    )?;
    for table in ["task_labels", "task_paths", "task_deps", "task_checks"] {
        sql::execute(tx.conn(), &format!("DELETE FROM {table} WHERE task_id = $1"), &[&id.as_str()])?;
    }
    write_lists(tx, id, fields)?;
    recount_open_deps(tx, id)
}

fn join_domains(fields: &TaskFields) -> String {
    fields.review_domains.iter().map(Label::as_str).collect::<Vec<_>>().join(" ")
}

fn write_lists(tx: &WriteTx<'_>, id: &TaskId, fields: &TaskFields) -> Result<(), StoreError> {
    let conn = tx.conn();
    for label in &fields.labels {
        sql::execute(conn, "INSERT INTO task_labels (task_id, label) VALUES ($1, $2)", &[&id.as_str(), label])?;
    }
    for glob in &fields.paths {
        sql::execute(conn, "INSERT INTO task_paths (task_id, glob) VALUES ($1, $2)", &[&id.as_str(), glob])?;
    }
    for on in &fields.depends_on {
        let insert = "INSERT INTO task_deps (task_id, depends_on) VALUES ($1, $2)";
        sql::execute(conn, insert, &[&id.as_str(), &on.as_str()])?;
    }
    for check in &fields.checks {
        let insert = "INSERT INTO task_checks (task_id, name, command) VALUES ($1, $2, $3)";
        sql::execute(conn, insert, &[&id.as_str(), &check.name.as_str(), &check.command])?;
    }
    Ok(())
}

/// Moves a task to a state, with the epoch that its claim has; updates the `open_deps` of its dependents.
///
/// # Errors
/// As the store fails.
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
            &task.id.as_str(),
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
            &tx.now().millis(),
        ],
    )?;
    match (task.state.status() == TaskStatus::Done, state.status() == TaskStatus::Done) {
        (false, true) => shift_open_deps(tx, &task.id, -1),
        (true, false) => shift_open_deps(tx, &task.id, 1),
        _ => Ok(()),
    }
}

/// Puts a task into a lane, or takes it out of its lane.
///
/// # Errors
/// As the store fails.
pub fn set_lane(tx: &WriteTx<'_>, id: &TaskId, lane: Option<&LaneName>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), UPDATE_LANE, &[&id.as_str(), &lane.map(LaneName::as_str), &tx.now().millis()])?;
    Ok(())
}

/// Writes the branch and commit of the work.
///
/// # Errors
/// As the store fails.
pub fn set_work(tx: &WriteTx<'_>, id: &TaskId, branch: Option<&str>, commit: Option<&str>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), UPDATE_WORK, &[&id.as_str(), &branch, &commit, &tx.now().millis()])?;
    Ok(())
}

/// Renews the lease of one of the claimant's tasks, or of all.
///
/// # Errors
/// As the store fails.
pub fn renew_leases(tx: &WriteTx<'_>, claimant: &str, only: Option<&TaskId>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), RENEW_LEASES, &[&claimant, &tx.now().millis(), &only.map(TaskId::as_str)])?;
    Ok(())
}

fn shift_open_deps(tx: &WriteTx<'_>, id: &TaskId, by: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), SHIFT_OPEN_DEPS, &[&id.as_str(), &by])?;
    Ok(())
}

fn recount_open_deps(tx: &WriteTx<'_>, id: &TaskId) -> Result<(), StoreError> {
    let open: i64 = sql::first(tx.conn(), COUNT_OPEN_DEPS, &[&id.as_str()], |row| row.get(0))?.unwrap_or_default();
    sql::execute(tx.conn(), SET_OPEN_DEPS, &[&id.as_str(), &open])?;
    Ok(())
}

/// The highest number of the ids `PREFIX-1`, `PREFIX-2`, …; 0 if there is none.
///
/// # Errors
/// As the store fails.
pub fn newest_number(tx: &ReadTx<'_>, prefix: &str) -> Result<u64, StoreError> {
    const DIGITS: usize = 18;
    let (from, to) = (format!("{prefix}-0"), format!("{prefix}-:"));
    // A longer number is larger: query the longest ids first. Ids of that length without a number are skipped.
    for length in (1..=DIGITS).rev().map(|digits| prefix.len() + 1 + digits) {
        let mut newest = None;
        sql::for_each(tx.conn(), NEWEST_NUMBERED, &[&i64::try_from(length).unwrap_or(0), &from, &to], |row| {
            let id: String = row.get(0)?;
            newest = id.get(prefix.len() + 1..).and_then(|digits| digits.parse::<u64>().ok());
            Ok(newest.is_none())
        })?;
        if let Some(number) = newest {
            return Ok(number);
        }
    }
    Ok(0)
}

/// Ids that differ from an unknown one only in case and hyphens, as `T-1` from `t1`; at most three.
///
/// # Errors
/// As the store fails.
pub fn ids_spelled_alike(tx: &ReadTx<'_>, id: &str) -> Result<Vec<String>, StoreError> {
    sql::rows(tx.conn(), SPELLED_ALIKE, &[&id], |row| row.get(0))
}

/// Ids similar to an unknown one: those with the same first characters.
///
/// # Errors
/// As the store fails.
pub fn similar_ids(tx: &ReadTx<'_>, id: &str) -> Result<Vec<String>, StoreError> {
    let beginning: String = id.chars().take(2).collect();
    sql::rows(tx.conn(), NEAR, &[&beginning], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::open;

    fn plan(query: Statement<'_>) -> String {
        let conn = open::in_memory().unwrap();
        let explain = format!("EXPLAIN QUERY PLAN {}", query.sqlite);
        sql::rows(&conn, &explain, &[], |row| row.get::<String>(3)).unwrap().join("\n")
    }

    /// Each frequent query is one range of a partial index, in its order: nothing is sorted, nothing is passed over.
    #[test]
    fn frequent_queries_read_through_their_indexes() {
        for (query, index) in [
            (READY, "tasks_ready"),
            (READY_SUMMARIES.into(), "tasks_ready"),
            (READY_IN_LANE, "tasks_ready"),
            (OPEN, "tasks_open"),
            (HELD, "tasks_held"),
        ] {
            let plan = plan(query);
            assert!(plan.lines().any(|line| line == format!("SCAN t USING INDEX {index}")), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
