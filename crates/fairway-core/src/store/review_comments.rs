//! Comments of reviewers as rows.

use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::TaskId;
use crate::domain::review::{LinePlace, ReviewComment};
use crate::env::Timestamp;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, task_id, reviewer, commit_id, path, line, line_text, content, created_at, told_in, resolved_by, ",
            "resolved_at, thread FROM review_comments ",
            $rest
        )
    };
}
const OF_TASK: &str = select!("WHERE task_id = $1 ORDER BY id");
const ONE: &str = select!("WHERE id = $1");
const INSERT: &str = "INSERT INTO review_comments (task_id, reviewer, commit_id, path, line, line_text, content, created_at, \
     thread) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id";
const SET_CONTENT: &str = "UPDATE review_comments SET content = $2 WHERE id = $1";
const SET_TOLD: &str = "UPDATE review_comments SET told_in = $2 WHERE id = $1";
const SET_UNTOLD: &str = "UPDATE review_comments SET told_in = NULL WHERE told_in = $1";
const REOPEN: &str = "UPDATE review_comments SET resolved_by = NULL, resolved_at = NULL WHERE id = $1";
const RESOLVE: &str = "UPDATE review_comments SET resolved_by = $2, resolved_at = $3 WHERE id = $1";

fn read(row: &Row<'_>) -> Result<ReviewComment, StoreError> {
    let line: i64 = row.get(5)?;
    let (by, at): (Option<String>, Option<i64>) = (row.get(10)?, row.get(11)?);
    Ok(ReviewComment {
        id: row.get(0)?,
        task: row.get(1)?,
        reviewer: row.get(2)?,
        commit: row.get(3)?,
        place: LinePlace { path: row.get(4)?, line: u64::try_from(line).unwrap_or_default() },
        line_text: row.get(6)?,
        content: row.get(7)?,
        created_at: row.get(8)?,
        told_in: row.get(9)?,
        resolved: by.zip(at.map(Timestamp::from_millis)),
        thread: row.get(12)?,
    })
}

/// A task's comments, oldest first.
pub fn of_task(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<ReviewComment>, StoreError> {
    sql::rows(tx.conn(), OF_TASK, &[&task], read)
}

pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<ReviewComment>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}

/// Inserts a comment with the time of the transaction; the store sets its id.
pub fn insert(tx: &WriteTx<'_>, comment: ReviewComment) -> Result<ReviewComment, StoreError> {
    let line = i64::try_from(comment.place.line).unwrap_or(i64::MAX);
    let id = sql::first(
        tx.conn(),
        INSERT,
        &[
            &comment.task,
            &comment.reviewer,
            &comment.commit,
            &comment.place.path,
            &line,
            &comment.line_text,
            &comment.content,
            &tx.now(),
            &comment.thread,
        ],
        |row| row.get(0),
    )?;
    Ok(ReviewComment { id: id.unwrap_or_default(), created_at: tx.now(), ..comment })
}

/// Records that the author of the work was told about the comment, with the verdict of the review `review`.
pub fn set_told(tx: &WriteTx<'_>, id: i64, review: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), SET_TOLD, &[&id, &review])?;
    Ok(())
}

/// Records that the author was not told about the comments that the review `review` had told.
pub fn set_untold(tx: &WriteTx<'_>, review: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), SET_UNTOLD, &[&review])?;
    Ok(())
}

/// Closes a comment, with the time of the transaction and the name of the person or session that closed it.
pub fn resolve(tx: &WriteTx<'_>, id: i64, by: &str) -> Result<(), StoreError> {
    sql::execute(tx.conn(), RESOLVE, &[&id, &by, &tx.now()])?;
    Ok(())
}

/// Opens a comment again that was closed.
pub fn reopen(tx: &WriteTx<'_>, id: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), REOPEN, &[&id])?;
    Ok(())
}

/// Replaces the text of a comment.
pub fn set_content(tx: &WriteTx<'_>, id: i64, content: &str) -> Result<(), StoreError> {
    sql::execute(tx.conn(), SET_CONTENT, &[&id, &content])?;
    Ok(())
}
