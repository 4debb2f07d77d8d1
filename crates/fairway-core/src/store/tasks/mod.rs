//! Tasks as rows.

mod batch;
mod list;
mod row;
mod write;

pub use batch::{existing, for_each_of, insert_all};
pub use list::{
    ListScope, ReadyRole, ReadyScope, count_ready, expired, for_each, for_each_ready, for_each_ready_in,
    for_each_ready_summary, has_ready_in, held_in_lane, held_paths, last_claimed_by, renew_leases,
};
pub use write::{insert, set_fields, set_lane, set_state, set_work};

use self::row::{FIELD_SEPARATOR, ITEM_SEPARATOR, select};
use super::sql::{self, Statement};
use super::{ReadTx, StoreError};
use crate::domain::TaskId;
use crate::domain::task::{NotReadyReason, Task, TaskStatus};

const ONE: Statement<'_> = select!("FROM tasks t WHERE t.id = $3");
const EXISTS: &str = "SELECT 1 FROM tasks WHERE id = $1";
const PARENT: &str = "SELECT parent FROM tasks WHERE id = $1 AND parent IS NOT NULL";

pub fn find(tx: &ReadTx<'_>, id: &TaskId) -> Result<Option<Task>, StoreError> {
    sql::first(tx.conn(), ONE, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR, &id], row::read)
}

pub fn exists(tx: &ReadTx<'_>, id: &TaskId) -> Result<bool, StoreError> {
    Ok(sql::first(tx.conn(), EXISTS, &[&id], |_| Ok(()))?.is_some())
}

pub fn parent(tx: &ReadTx<'_>, id: &TaskId) -> Result<Option<TaskId>, StoreError> {
    sql::first(tx.conn(), PARENT, &[&id], |row| row.get(0))
}

const DEPENDENCIES: &str = "SELECT depends_on FROM task_deps WHERE task_id = $1 ORDER BY depends_on";
const WAITING: &str = "SELECT d.depends_on, t.status FROM task_deps d LEFT JOIN tasks t ON t.id = d.depends_on \
     WHERE d.task_id = $1 ORDER BY d.depends_on";
const DEPENDENTS: &str = "SELECT t.id, t.status FROM task_deps d JOIN tasks t ON t.id = d.task_id \
     WHERE d.depends_on = $1 ORDER BY t.id";

/// The dependencies of a task, by id; empty for an unknown task.
pub fn dependencies(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    sql::rows(tx.conn(), DEPENDENCIES, &[&id], |row| row.get(0))
}

/// The dependencies of a task that are not done, each with the reason why the task waits for it.
pub fn waiting_on(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<NotReadyReason>, StoreError> {
    let found = sql::rows(tx.conn(), WAITING, &[&id], |row| {
        let on = row.get::<TaskId>(0)?;
        let status = row.get::<Option<TaskStatus>>(1)?;
        Ok(NotReadyReason::for_dependency(on, status))
    })?;
    Ok(found.into_iter().flatten().collect())
}

pub fn dependents(tx: &ReadTx<'_>, id: &TaskId) -> Result<Vec<(TaskId, TaskStatus)>, StoreError> {
    sql::rows(tx.conn(), DEPENDENTS, &[&id], |row| {
        let status = row.get::<TaskStatus>(1)?;
        Ok((row.get::<TaskId>(0)?, status))
    })
}

const NEWEST_NUMBERED: &str = "SELECT id FROM tasks INDEXED BY tasks_number WHERE length(id) = $1 AND id >= $2 AND id < $3 \
     ORDER BY id DESC";
const SPELLED_ALIKE: &str =
    "SELECT id FROM tasks WHERE lower(replace(id, '-', '')) = lower(replace($1, '-', '')) ORDER BY id LIMIT 3";
const NEAR: &str = "SELECT id FROM tasks WHERE id >= $1 ORDER BY id LIMIT 200";

/// The highest number of the ids `PREFIX-1`, `PREFIX-2`, …; 0 if there is none.
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

/// Up to three ids that differ from an unknown one only in case and hyphens: `T-1` for `t1`.
pub fn ids_spelled_alike(tx: &ReadTx<'_>, id: &str) -> Result<Vec<String>, StoreError> {
    sql::rows(tx.conn(), SPELLED_ALIKE, &[&id], |row| row.get(0))
}

/// Candidates for ids that are similar to an unknown one: up to 200 ids in alphabetical order, from its first two characters on.
pub fn similar_ids(tx: &ReadTx<'_>, id: &str) -> Result<Vec<String>, StoreError> {
    let beginning: String = id.chars().take(2).collect();
    sql::rows(tx.conn(), NEAR, &[&beginning], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::list::{HELD, OPEN, READY, READY_IN_LANE, READY_SUMMARIES};
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
