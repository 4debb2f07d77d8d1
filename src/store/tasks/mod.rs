//! Tasks as rows.

mod dependencies;
mod held;
mod ids;
mod list;
mod many;
mod ready;
mod row;
mod write;

pub use dependencies::{dependencies, dependents, waiting_on};
pub use held::{expired, held_in_lane, held_paths, last_claimed_by, renew_leases};
pub use ids::{ids_spelled_alike, newest_number, similar_ids};
pub use list::{ListScope, children, for_each};
pub use many::{existing, for_each_of, insert_all};
pub use ready::{ReadyScope, for_each_ready, for_each_ready_in, for_each_ready_summary};
pub use write::{insert, set_fields, set_lane, set_state, set_work};

use self::row::{FIELD_SEPARATOR, ITEM_SEPARATOR, select};
use super::{
    ReadTx, StoreError,
    sql::{self, Row, Statement},
};
use crate::domain::{TaskId, task::Task};

const ONE: Statement<'_> = select!("FROM tasks t WHERE t.id = $3");
const EXISTS: &str = "SELECT 1 FROM tasks WHERE id = $1";
const PARENT: &str = "SELECT parent FROM tasks WHERE id = $1 AND parent IS NOT NULL";

/// The task of this id.
pub fn find(tx: &ReadTx<'_>, id: &TaskId) -> Result<Option<Task>, StoreError> {
    sql::first(tx.conn(), ONE, &[&ITEM_SEPARATOR, &FIELD_SEPARATOR, &id], row::read)
}

/// Whether there is a task of this id.
pub fn exists(tx: &ReadTx<'_>, id: &TaskId) -> Result<bool, StoreError> {
    Ok(sql::first(tx.conn(), EXISTS, &[&id], |_| Ok(()))?.is_some())
}

/// The parent of a task.
pub fn parent(tx: &ReadTx<'_>, id: &TaskId) -> Result<Option<TaskId>, StoreError> {
    let read = |row: &Row<'_>| row.get::<TaskId>(0);
    sql::first(tx.conn(), PARENT, &[&id], read)
}

#[cfg(test)]
mod tests {
    use super::{
        list::{HELD, OPEN},
        ready::{READY, READY_IN_LANE, READY_SUMMARIES},
        *,
    };
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
