//! Sums over what sessions report, by one of the columns that every report has.

use super::{ReadTx, StoreError, sql};
use crate::{domain::SessionId, env::Timestamp};

/// The statements that group a table by a key: for all sessions, and for one. The key comes first, as text.
macro_rules! sums {
    ($by:expr, $table:literal, $sums:literal) => {
        match $by {
            UsageBy::Session => sums!(@both $table, $sums, "session_id"),
            UsageBy::Lane => sums!(@both $table, $sums, "lane"),
            UsageBy::Task => sums!(@both $table, $sums, "task_id"),
            UsageBy::Role => sums!(@both $table, $sums, "role"),
            UsageBy::Model => sums!(@both $table, $sums, "model"),
            UsageBy::Day => sums!(@both $table, $sums, "at / 86400000"),
        }
    };
    (@both $table:literal, $sums:literal, $key:literal) => {
        [
            sums!(@one $table, $sums, $key, "_at WHERE at >= $1"),
            sums!(@one $table, $sums, $key, "_session WHERE session_id = $2 AND at >= $1"),
        ]
    };
    (@one $table:literal, $sums:literal, $key:literal, $which:literal) => {
        concat!(
            "SELECT CAST(", $key, " AS TEXT), ", $sums, " FROM ", $table, " INDEXED BY ", $table, $which, " GROUP BY ", $key
        )
    };
}
pub(super) use sums;

/// The sums since a time, of one session or of all. A day is the number of days since 1970.
pub(super) fn read<T>(
    tx: &ReadTx<'_>,
    [all, one]: [&'static str; 2],
    since: Timestamp,
    session: Option<&SessionId>,
    row: impl FnMut(&sql::Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let query = if session.is_some() { one } else { all };
    sql::rows(tx.conn(), query, &[&since, &session], row)
}
