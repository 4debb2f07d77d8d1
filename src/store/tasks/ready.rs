//! Ready tasks, in claim order.

use super::row::{self, FIELD_SEPARATOR, ITEM_SEPARATOR, select};
use crate::{
    domain::{
        LaneName, Role,
        task::{Task, TaskStatus, TaskSummary},
    },
    store::{
        ReadTx, StoreError,
        sql::{self, Row, Statement, ToValue},
    },
};

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
pub(super) const READY_IN_LANE: Statement<'_> = select!(
    "FROM tasks t INDEXED BY tasks_ready WHERE t.status = 'todo' AND t.open_deps = 0 AND t.lane IS NOT DISTINCT FROM $3 \
     ORDER BY t.priority, t.created_at, t.id"
);
const READY_ELSEWHERE: Statement<'_> = select!(
    "FROM tasks t INDEXED BY tasks_ready WHERE t.status = 'todo' AND t.open_deps = 0 AND t.lane <> $3 \
     ORDER BY t.priority, t.created_at, t.id"
);

/// Passes the ready tasks of a role and a lane to `see`, in claim order, until `see` returns `false`, probably after so many.
pub fn for_each_ready(
    tx: &ReadTx<'_>,
    role: Option<&Role>,
    lane: Option<&LaneName>,
    expected: usize,
    mut see: impl FnMut(Task) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    for_each_row(tx, READY, role, lane, expected, |row| see(row::read(row)?))
}

/// Passes the summaries of the ready tasks of a role and a lane to `see`, in claim order, until `see` returns `false`, probably
/// after so many. It reads one table, where whole tasks need five.
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

/// The ready tasks that a claim probably looks at: most claims take the first.
const CANDIDATES: usize = 2;

/// Passes the ready tasks of some lanes to `see`, in claim order, until `see` returns `false`.
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
    sql::for_each_expecting(tx.conn(), query, &values, CANDIDATES, |row| see(row::read(row)?))
}
