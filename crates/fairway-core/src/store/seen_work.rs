//! What each reviewer has seen of a task's work, as rows. The rows of closed tasks are removed with their refs.

use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::seen_work::{SeenCommit, SeenWork};
use crate::env::Timestamp;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT s.id, s.task_id, s.reviewer, s.lane, s.commit_id, s.fork, s.earlier_commit, s.earlier_fork, ",
            "s.seen_at, s.deferred_at FROM seen_work s ",
            $rest
        )
    };
}
const ALL: &str = select!("ORDER BY s.seen_at DESC, s.id DESC");
const OF_CLOSED: &str = select!("JOIN tasks t ON t.id = s.task_id WHERE t.closed_at IS NOT NULL ORDER BY s.id");
const UPSERT: &str = "INSERT INTO seen_work (task_id, reviewer, lane, commit_id, fork, earlier_commit, earlier_fork, seen_at, \
     deferred_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (task_id, reviewer) DO UPDATE SET \
     lane = excluded.lane, commit_id = excluded.commit_id, fork = excluded.fork, \
     earlier_commit = excluded.earlier_commit, earlier_fork = excluded.earlier_fork, seen_at = excluded.seen_at, \
     deferred_at = excluded.deferred_at RETURNING id";
const DELETE: &str = "DELETE FROM seen_work WHERE id = $1";

fn read(row: &Row<'_>) -> Result<SeenWork, StoreError> {
    let seen = |commit: Option<String>, fork: Option<String>| {
        commit.zip(fork).map(|(commit, fork)| SeenCommit { commit, fork })
    };
    let at = |millis: Option<i64>| millis.map(Timestamp::from_millis);
    Ok(SeenWork {
        id: row.get(0)?,
        task: row.get(1)?,
        reviewer: row.get(2)?,
        lane: row.get(3)?,
        newest: seen(row.get(4)?, row.get(5)?),
        earlier: seen(row.get(6)?, row.get(7)?),
        seen_at: at(row.get(8)?),
        deferred_at: at(row.get(9)?),
    })
}

/// The rows of all tasks and reviewers, newest first.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<SeenWork>, StoreError> {
    sql::rows(tx.conn(), ALL, &[], read)
}

pub fn of_closed_tasks(tx: &ReadTx<'_>) -> Result<Vec<SeenWork>, StoreError> {
    sql::rows(tx.conn(), OF_CLOSED, &[], read)
}

/// Writes the row of a task and a reviewer; returns its id.
pub fn upsert(tx: &WriteTx<'_>, seen: &SeenWork) -> Result<i64, StoreError> {
    let (newest, earlier) = (seen.newest.as_ref(), seen.earlier.as_ref());
    let id = sql::first(
        tx.conn(),
        UPSERT,
        &[
            &seen.task,
            &seen.reviewer,
            &seen.lane,
            &newest.map(|seen| seen.commit.as_str()),
            &newest.map(|seen| seen.fork.as_str()),
            &earlier.map(|seen| seen.commit.as_str()),
            &earlier.map(|seen| seen.fork.as_str()),
            &seen.seen_at,
            &seen.deferred_at,
        ],
        |row| row.get(0),
    )?;
    Ok(id.unwrap_or_default())
}

pub fn delete(tx: &WriteTx<'_>, id: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), DELETE, &[&id])?;
    Ok(())
}
