//! Evidence as rows: only added.

use super::{
    ReadTx, StoreError, WriteTx,
    sql::{self, Row},
};
use crate::{
    domain::{
        SessionId, TaskId,
        evidence::{Evidence, EvidenceResult, LANDING_KIND},
    },
    env::Timestamp,
};

const INSERT: &str = "INSERT INTO evidence (task_id, session_id, kind, result, command, check_name, exit_code, \
     duration_ms, artifact, sha256, commit_id, summary, observed, created_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING id";
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, task_id, session_id, kind, result, command, check_name, exit_code, duration_ms, artifact, sha256, ",
            "commit_id, summary, observed, created_at FROM evidence ",
            $rest
        )
    };
}
const BY_ID: &str = select!("WHERE id = $1");
const OF_TASK: &str = select!("WHERE task_id = $1 ORDER BY id");

/// A check of a landing is recorded on every task of the batch, each time with the same file.
const FLAKY: &str = "SELECT command, count(DISTINCT artifact) FROM evidence WHERE kind = $1 AND result = 'pass' \
     AND command IS NOT NULL AND summary LIKE 'flaky: %' GROUP BY command ORDER BY 2 DESC, 1 LIMIT $2";

fn read(row: &Row<'_>) -> Result<Evidence, StoreError> {
    Ok(Evidence {
        id: row.get(0)?,
        task: sql::parse_id("a task id", &row.get::<String>(1)?, TaskId::parse)?,
        session: sql::parse_optional_id("a session id", row.get(2)?, SessionId::parse)?,
        kind: row.get(3)?,
        result: sql::parse_value("a result", &row.get::<String>(4)?, EvidenceResult::parse)?,
        command: row.get(5)?,
        check: row.get(6)?,
        exit_code: row.get(7)?,
        duration_ms: row.get(8)?,
        artifact: row.get(9)?,
        sha256: row.get(10)?,
        commit: row.get(11)?,
        summary: row.get(12)?,
        observed: row.get(13)?,
        created_at: Timestamp::from_millis(row.get(14)?),
    })
}

/// Adds a record; the store sets its id and time.
pub fn insert(tx: &WriteTx<'_>, record: Evidence) -> Result<Evidence, StoreError> {
    let id = sql::first(
        tx.conn(),
        INSERT,
        &[
            &record.task.as_str(),
            &record.session.as_ref().map(SessionId::as_str),
            &record.kind,
            &record.result.as_str(),
            &record.command,
            &record.check,
            &record.exit_code,
            &record.duration_ms,
            &record.artifact,
            &record.sha256,
            &record.commit,
            &record.summary,
            &record.observed,
            &tx.now().millis(),
        ],
        |row| row.get(0),
    )?;
    Ok(Evidence { id: id.unwrap_or_default(), created_at: tx.now(), ..record })
}

/// The record of this number.
pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<Evidence>, StoreError> {
    sql::first(tx.conn(), BY_ID, &[&id], read)
}

/// The checks of landings that passed only when they ran again, and how often: the most frequent first, at most `limit`.
pub fn flaky(tx: &ReadTx<'_>, limit: i64) -> Result<Vec<(String, i64)>, StoreError> {
    sql::rows(tx.conn(), FLAKY, &[&LANDING_KIND, &limit], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// A task's evidence, oldest first.
pub fn of_task(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<Evidence>, StoreError> {
    sql::rows(tx.conn(), OF_TASK, &[&task.as_str()], read)
}
