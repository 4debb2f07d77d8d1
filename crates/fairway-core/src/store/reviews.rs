//! Reviews as rows. A task has at most one open request in a domain, so the order of ids is the order of verdicts.

use super::sql::columns::{columns, text};
use super::sql::{self, Row, Statement};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::TaskId;
use crate::domain::review::Review;

columns! {
    Review {
        id;
        task = "task_id", domain, verdict, commit = "commit_id", reviewer, actor, notes, created_at,
    }
}

const SELECT: &str = text!("SELECT ", COLUMNS, " FROM reviews ");
const INSERT: &str = text!("INSERT INTO reviews (", WRITTEN, ", id) VALUES (", PLACEHOLDERS, ", ");
const OR_REPLACE: &str = ") ON CONFLICT (id) DO UPDATE SET verdict = excluded.verdict, commit_id = excluded.commit_id, \
     reviewer = excluded.reviewer, actor = excluded.actor, notes = excluded.notes, created_at = excluded.created_at \
     RETURNING id";
/// A NULL as the id gives out the next one.
const UPSERT: Statement<'_> = Statement {
    sqlite: text!(INSERT, "$9", OR_REPLACE),
    postgres: text!(INSERT, "coalesce($9, next_number('reviews'))", OR_REPLACE),
};
const OF_TASK: &str = text!(SELECT, "WHERE task_id = $1 ORDER BY id");
const ONE: &str = text!(SELECT, "WHERE id = $1");
const REQUESTED: &str = text!(SELECT, "WHERE verdict IS NULL ORDER BY id");
const DELETE: &str = "DELETE FROM reviews WHERE id = $1";

/// Inserts a review with the time of the transaction. With `asked`, it replaces that open request for a review.
pub fn upsert(tx: &WriteTx<'_>, asked: Option<i64>, review: Review) -> Result<Review, StoreError> {
    let review = Review { created_at: tx.now(), ..review };
    let mut values = values(&review);
    values.push(&asked);
    let id = sql::first(tx.conn(), UPSERT, &values, |row| row.get(0))?;
    Ok(Review { id: id.unwrap_or_default(), ..review })
}

pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<Review>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}

/// Every requested review without a verdict, oldest first.
pub fn requested(tx: &ReadTx<'_>) -> Result<Vec<Review>, StoreError> {
    sql::rows(tx.conn(), REQUESTED, &[], read)
}

/// Removes a review. Its id is never given out again.
pub fn delete(tx: &WriteTx<'_>, id: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), DELETE, &[&id])?;
    Ok(())
}

/// A task's reviews, oldest first.
pub fn of_task(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<Review>, StoreError> {
    sql::rows(tx.conn(), OF_TASK, &[&task], read)
}
