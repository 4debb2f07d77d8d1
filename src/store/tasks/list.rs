//! Lists of whole tasks.

use super::row::{self, FIELD_SEPARATOR, ITEM_SEPARATOR, select};
use crate::{
    domain::{TaskId, task::Task},
    store::{
        ReadTx, StoreError,
        sql::{self, Statement},
    },
};

pub(super) const OPEN: Statement<'_> =
    select!("FROM tasks t INDEXED BY tasks_open WHERE t.closed_at IS NULL ORDER BY t.priority, t.created_at, t.id");
const ALL: Statement<'_> = select!("FROM tasks t ORDER BY t.priority, t.created_at, t.id");
const BY_ID: Statement<'_> = select!("FROM tasks t ORDER BY t.id");
pub(super) const HELD: Statement<'_> =
    select!("FROM tasks t INDEXED BY tasks_held WHERE t.claimant IS NOT NULL ORDER BY t.lane NULLS FIRST, t.id");
const CHILDREN: Statement<'_> = select!("FROM tasks t WHERE t.parent = $3 ORDER BY t.priority, t.created_at, t.id");

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

/// The children of a task.
pub fn children(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<Task>, StoreError> {
    sql::rows(tx.conn(), CHILDREN, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR, &id], row::read)
}
