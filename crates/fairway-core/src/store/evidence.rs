//! Evidence as rows: only added.

use super::sql::columns::{columns, text};
use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::TaskId;
use crate::domain::evidence::{Evidence, LANDING_KIND};

columns! {
    Evidence {
        id;
        task = "task_id", session = "session_id", kind, result, command, check = "check_name", exit_code, duration_ms,
        artifact, sha256, commit = "commit_id", summary, observed, created_at,
    }
}

const SELECT: &str = text!("SELECT ", COLUMNS, " FROM evidence ");
const INSERT: &str = text!("INSERT INTO evidence (", WRITTEN, ") VALUES (", PLACEHOLDERS, ") RETURNING id");
const BY_ID: &str = text!(SELECT, "WHERE id = $1");
const OF_TASK: &str = text!(SELECT, "WHERE task_id = $1 ORDER BY id");

/// A check of a landing is recorded on every task of the batch, each time with the same file.
const FLAKY: &str = "SELECT command, count(DISTINCT artifact) FROM evidence WHERE kind = $1 AND result = 'pass' \
     AND command IS NOT NULL AND summary LIKE 'flaky: %' GROUP BY command ORDER BY 2 DESC, 1 LIMIT $2";

/// Adds a record; the store sets its id and time.
pub fn insert(tx: &WriteTx<'_>, record: Evidence) -> Result<Evidence, StoreError> {
    let record = Evidence { created_at: tx.now(), ..record };
    let id = sql::first(tx.conn(), INSERT, &values(&record), |row| row.get(0))?;
    Ok(Evidence { id: id.unwrap_or_default(), ..record })
}

pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<Evidence>, StoreError> {
    sql::first(tx.conn(), BY_ID, &[&id], read)
}

/// The checks of landings that failed once and passed when they ran again, each with the number of times that this happened: the
/// most frequent first, at most `limit`.
pub fn flaky(tx: &ReadTx<'_>, limit: i64) -> Result<Vec<(String, i64)>, StoreError> {
    sql::rows(tx.conn(), FLAKY, &[&LANDING_KIND, &limit], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// A task's evidence, oldest first.
pub fn of_task(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<Evidence>, StoreError> {
    sql::rows(tx.conn(), OF_TASK, &[&task], read)
}
