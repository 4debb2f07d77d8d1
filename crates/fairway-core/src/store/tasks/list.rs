//! Lists of tasks: whole ones, ready ones in claim order, and claimed ones with their leases.

use super::row::{self, FIELD_SEPARATOR, ITEM_SEPARATOR, select};
use crate::domain::rules::claim::HeldPaths;
use crate::domain::task::{Task, TaskStatus, TaskSummary};
use crate::domain::{LaneName, Role, TaskId};
use crate::env::Timestamp;
use crate::store::sql::{self, Row, Statement, ToValue};
use crate::store::{ReadTx, StoreError, WriteTx};

pub(super) const OPEN: Statement<'_> =
    select!("FROM tasks t INDEXED BY tasks_open WHERE t.closed_at IS NULL ORDER BY t.priority, t.created_at, t.id");
const ALL: Statement<'_> = select!("FROM tasks t ORDER BY t.priority, t.created_at, t.id");
const BY_ID: Statement<'_> = select!("FROM tasks t ORDER BY t.id");
pub(super) const HELD: Statement<'_> =
    select!("FROM tasks t INDEXED BY tasks_held WHERE t.claimant IS NOT NULL ORDER BY t.lane NULLS FIRST, t.id");

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

/// Passes the tasks of `range` to `see`, until `see` returns `false`. The order is by priority, age and id; for
/// [`ListScope::ById`] it is by id, and for [`ListScope::Claimed`] by lane and id.
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
    sql::for_each(tx.conn(), query, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR], |row| see(row::read(row)?))
}

// $3 is the role and $4 the lane; $1 and $2 are bound as for whole tasks.
macro_rules! ready {
    () => {
        "FROM tasks t INDEXED BY tasks_ready WHERE t.status = 'todo' AND t.open_deps = 0 \
         AND ($3 IS NULL OR t.role IS NULL OR t.role = $3) AND ($4 IS NULL OR t.lane IS NULL OR t.lane = $4) \
         ORDER BY t.priority, t.created_at, t.id"
    };
}
pub(super) const READY: Statement<'_> = select!(ready!());
pub(super) const READY_SUMMARIES: &str = concat!("SELECT t.id, t.title, t.role, t.lane, t.priority ", ready!());
// $3 is the lane. $4 is the role of a task that fits beside none; NULL where each fits.
macro_rules! ready_in {
    ($lane:literal) => {
        concat!(
            "FROM tasks t INDEXED BY tasks_ready WHERE t.status = 'todo' AND t.open_deps = 0 AND ",
            $lane,
            " AND ($4 IS NULL OR t.role IS NULL OR t.role = $4) ORDER BY t.priority, t.created_at, t.id"
        )
    };
}
macro_rules! in_lane {
    () => {
        ready_in!("t.lane IS NOT DISTINCT FROM $3")
    };
}
macro_rules! elsewhere {
    () => {
        ready_in!("t.lane <> $3")
    };
}
macro_rules! everywhere {
    () => {
        ready_in!("($3 IS NULL OR t.lane = $3)")
    };
}
pub(super) const READY_IN_LANE: Statement<'_> = select!(in_lane!());
const READY_ELSEWHERE: Statement<'_> = select!(elsewhere!());
const READY_EVERYWHERE: Statement<'_> = select!(everywhere!());
const FIRST_IN_LANE: &str = concat!("SELECT t.id ", in_lane!(), " LIMIT 1");
const FIRST_ELSEWHERE: &str = concat!("SELECT t.id ", elsewhere!(), " LIMIT 1");
const FIRST_EVERYWHERE: &str = concat!("SELECT t.id ", everywhere!(), " LIMIT 1");

/// Passes the ready tasks that a role and a lane fit to `see`, in claim order, until `see` returns `false`. A task without a role
/// or lane fits every one, and `None` fits every task. `expected` is the number of tasks that `see` will probably get.
pub fn for_each_ready(
    tx: &ReadTx<'_>,
    role: Option<&Role>,
    lane: Option<&LaneName>,
    expected: usize,
    mut see: impl FnMut(Task) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    for_each_row(tx, READY, role, lane, expected, |row| see(row::read(row)?))
}

/// As [`for_each_ready`], but passes only the summaries of the tasks. This reads one table, where whole tasks need five.
pub fn for_each_ready_summary(
    tx: &ReadTx<'_>,
    role: Option<&Role>,
    lane: Option<&LaneName>,
    expected: usize,
    mut see: impl FnMut(TaskSummary) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    for_each_row(tx, READY_SUMMARIES.into(), role, lane, expected, |row| {
        see(TaskSummary {
            id: row.get(0)?,
            title: row.get(1)?,
            status: TaskStatus::Todo,
            role: row.get(2)?,
            lane: row.get(3)?,
            priority: row.get(4)?,
        })
    })
}

fn for_each_row(
    tx: &ReadTx<'_>,
    query: Statement<'_>,
    role: Option<&Role>,
    lane: Option<&LaneName>,
    expected: usize,
    see: impl FnMut(&Row<'_>) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let (role, lane) = (role.map(Role::as_str), lane.map(LaneName::as_str));
    let values: [&dyn ToValue; 4] = [&ITEM_SEPARATOR, &FIELD_SEPARATOR, &role, &lane];
    sql::for_each_expecting(tx.conn(), query, &values, expected, see)
}

/// The lanes of ready tasks.
#[derive(Debug, Clone, Copy)]
pub enum ReadyScope<'a> {
    In(&'a LaneName),
    /// No lane.
    WithoutLane,
    /// Every other lane than this one.
    Elsewhere(&'a LaneName),
    /// All tasks.
    Everywhere,
}

impl<'a> ReadyScope<'a> {
    /// The lane that the statements compare with.
    fn lane(self) -> Option<&'a str> {
        match self {
            Self::In(lane) | Self::Elsewhere(lane) => Some(lane.as_str()),
            Self::WithoutLane | Self::Everywhere => None,
        }
    }

    /// Whether tasks of this lane, or of none, are in the scope.
    pub fn contains(&self, lane: Option<&LaneName>) -> bool {
        match self {
            Self::In(own) => lane == Some(*own),
            Self::WithoutLane => lane.is_none(),
            Self::Elsewhere(own) => lane.is_some_and(|lane| lane != *own),
            Self::Everywhere => true,
        }
    }
}

/// The roles of ready tasks.
#[derive(Debug, Clone, Copy)]
pub enum ReadyRole<'a> {
    Any,
    /// Tasks without a role, and those of this role.
    Of(Option<&'a Role>),
}

impl<'a> ReadyRole<'a> {
    fn value(self) -> Option<&'a str> {
        match self {
            Self::Any => None,
            // No role has an empty name.
            Self::Of(role) => Some(role.map_or("", Role::as_str)),
        }
    }
}

/// The ready tasks that a claim probably looks at: most claims take the first.
const CANDIDATES: usize = 2;

/// Passes the ready tasks of the lanes in `scope` that fit the role to `see`, in claim order, until `see` returns `false`.
pub fn for_each_ready_in(
    tx: &ReadTx<'_>,
    scope: ReadyScope<'_>,
    role: ReadyRole<'_>,
    mut see: impl FnMut(Task) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let query = match scope {
        ReadyScope::In(_) | ReadyScope::WithoutLane => READY_IN_LANE,
        ReadyScope::Elsewhere(_) => READY_ELSEWHERE,
        ReadyScope::Everywhere => READY_EVERYWHERE,
    };
    let values: [&dyn ToValue; 4] = [&ITEM_SEPARATOR, &FIELD_SEPARATOR, &scope.lane(), &role.value()];
    sql::for_each_expecting(tx.conn(), query, &values, CANDIDATES, |row| see(row::read(row)?))
}

/// Whether [`for_each_ready_in`] would pass any task.
pub fn has_ready_in(tx: &ReadTx<'_>, scope: ReadyScope<'_>, role: ReadyRole<'_>) -> Result<bool, StoreError> {
    let query = match scope {
        ReadyScope::In(_) | ReadyScope::WithoutLane => FIRST_IN_LANE,
        ReadyScope::Elsewhere(_) => FIRST_ELSEWHERE,
        ReadyScope::Everywhere => FIRST_EVERYWHERE,
    };
    let values: [&dyn ToValue; 4] = [&ITEM_SEPARATOR, &FIELD_SEPARATOR, &scope.lane(), &role.value()];
    Ok(sql::first(tx.conn(), query, &values, |row| row.get::<TaskId>(0))?.is_some())
}

/// The number of ready tasks.
pub fn count_ready(tx: &ReadTx<'_>) -> Result<i64, StoreError> {
    Ok(sql::first(tx.conn(), COUNT_READY, &[], |row| row.get(0))?.unwrap_or_default())
}

pub(in crate::store) const COUNT_READY: &str =
    "SELECT count(*) FROM tasks INDEXED BY tasks_ready WHERE status = 'todo' AND open_deps = 0";
const EXPIRED: Statement<'_> = select!(
    "FROM tasks t INDEXED BY tasks_held WHERE t.claimant IS NOT NULL AND t.lease_until <= $3 \
     ORDER BY t.priority, t.created_at, t.id"
);
const HELD_PATHS: &str = "SELECT t.id, t.claimant, string_agg(p.glob, $1) FROM tasks t INDEXED BY tasks_held \
     JOIN task_paths p ON p.task_id = t.id WHERE t.claimant IS NOT NULL AND t.claimant <> $2 GROUP BY t.id, t.claimant";
const COUNT_HELD_IN_LANE: &str =
    "SELECT count(*) FROM tasks INDEXED BY tasks_held WHERE claimant IS NOT NULL AND lane = $1 AND id <> $2";
const HELD_BY: &str = "SELECT id, lane FROM tasks INDEXED BY tasks_held WHERE claimant IS NOT NULL AND claimant = $1 \
     ORDER BY claimed_at DESC, id LIMIT 1";
const RENEW_LEASES: &str = "UPDATE tasks SET lease_until = $2 + lease_ms \
     WHERE claimant = $1 AND claimant IS NOT NULL AND lease_until IS NOT NULL AND ($3 IS NULL OR id = $3)";

/// The claimed tasks whose lease has expired, by priority, age and id.
pub fn expired(tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Task>, StoreError> {
    sql::rows(tx.conn(), EXPIRED, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR, &now], row::read)
}

/// The paths of all tasks that claimants other than `claimant` have claimed. A task without paths is left out.
pub fn held_paths(tx: &ReadTx<'_>, claimant: &str) -> Result<Vec<HeldPaths>, StoreError> {
    sql::rows(tx.conn(), HELD_PATHS, &[&ITEM_SEPARATOR, &claimant], |row| {
        Ok(HeldPaths {
            task: row.get(0)?,
            claimant: row.get(1)?,
            paths: row.get::<String>(2)?.split(ITEM_SEPARATOR).map(str::to_owned).collect(),
        })
    })
}

/// Of the tasks that the claimant has claimed now, the one that was claimed last, with its lane; `None` when there is none.
pub fn last_claimed_by(tx: &ReadTx<'_>, claimant: &str) -> Result<Option<(TaskId, Option<LaneName>)>, StoreError> {
    sql::first(tx.conn(), HELD_BY, &[&claimant], |row| {
        let id = row.get::<TaskId>(0)?;
        Ok((id, row.get::<Option<LaneName>>(1)?))
    })
}

/// The number of claimed tasks in a lane, not counting `except`.
pub fn held_in_lane(tx: &ReadTx<'_>, lane: &LaneName, except: Option<&TaskId>) -> Result<i64, StoreError> {
    let except = except.map_or("", TaskId::as_str);
    let count = sql::first(tx.conn(), COUNT_HELD_IN_LANE, &[&lane, &except], |row| row.get(0))?;
    Ok(count.unwrap_or_default())
}

/// Renews the lease of the claimant's task `only`, or of all of the claimant's tasks when it is `None`.
pub fn renew_leases(tx: &WriteTx<'_>, claimant: &str, only: Option<&TaskId>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), RENEW_LEASES, &[&claimant, &tx.now(), &only])?;
    Ok(())
}
