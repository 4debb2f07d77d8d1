//! Reviews as rows. A task has at most one open request in a domain, so the order of ids is the order of verdicts.

use super::{
    ReadTx, StoreError, WriteTx,
    sql::{self, Row, Statement},
};
use crate::{
    domain::{
        TaskId,
        id::Label,
        review::{Review, Verdict},
    },
    env::Timestamp,
};

macro_rules! upsert {
    ($id:literal) => {
        concat!(
            "INSERT INTO reviews (id, task_id, domain, verdict, commit_id, reviewer, actor, notes, created_at) VALUES (",
            $id,
            ", $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO UPDATE SET verdict = excluded.verdict, ",
            "commit_id = excluded.commit_id, reviewer = excluded.reviewer, actor = excluded.actor, ",
            "notes = excluded.notes, created_at = excluded.created_at RETURNING id"
        )
    };
}
/// A NULL as the id gives out the next one.
const UPSERT: Statement<'_> =
    Statement { sqlite: upsert!("$1"), postgres: upsert!("coalesce($1, next_number('reviews'))") };
const OF_TASK: &str = "SELECT id, task_id, domain, verdict, commit_id, reviewer, actor, notes, created_at FROM reviews \
     WHERE task_id = $1 ORDER BY id";

const ONE: &str = "SELECT id, task_id, domain, verdict, commit_id, reviewer, actor, notes, created_at FROM reviews \
     WHERE id = $1";
const REQUESTED: &str = "SELECT id, task_id, domain, verdict, commit_id, reviewer, actor, notes, created_at FROM reviews \
     WHERE verdict IS NULL ORDER BY id";
const DELETE: &str = "DELETE FROM reviews WHERE id = $1";

fn read(row: &Row<'_>) -> Result<Review, StoreError> {
    Ok(Review {
        id: row.get(0)?,
        task: sql::parse_id("a task id", &row.get::<String>(1)?, TaskId::parse)?,
        domain: sql::parse_id("a review domain", &row.get::<String>(2)?, Label::parse)?,
        verdict: row
            .get::<Option<String>>(3)?
            .map(|text| sql::parse_value("a verdict", &text, Verdict::parse))
            .transpose()?,
        commit: row.get(4)?,
        reviewer: row.get(5)?,
        actor: row.get(6)?,
        notes: row.get(7)?,
        created_at: Timestamp::from_millis(row.get(8)?),
    })
}

/// Inserts a review as of now, or replaces the open request `asked`.
pub fn upsert(tx: &WriteTx<'_>, asked: Option<i64>, review: Review) -> Result<Review, StoreError> {
    let id = sql::first(
        tx.conn(),
        UPSERT,
        &[
            &asked,
            &review.task.as_str(),
            &review.domain.as_str(),
            &review.verdict.map(Verdict::as_str),
            &review.commit,
            &review.reviewer,
            &review.actor,
            &review.notes,
            &tx.now().millis(),
        ],
        |row| row.get(0),
    )?;
    Ok(Review { id: id.unwrap_or_default(), created_at: tx.now(), ..review })
}

/// The review of this id.
pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<Review>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}

/// Every requested review that is not given, oldest first.
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
    sql::rows(tx.conn(), OF_TASK, &[&task.as_str()], read)
}
