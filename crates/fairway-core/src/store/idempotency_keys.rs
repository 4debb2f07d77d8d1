//! Idempotency keys as rows: the fingerprint and answer of each `--request-id`, and open intents.

use super::{ReadTx, StoreError, WriteTx, sql};
use crate::env::Timestamp;

/// How long a request is kept, in milliseconds: a week.
const RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    pub fingerprint: String,
    /// The answer, as JSON text; `None` for an intent without an answer.
    pub answer: Option<String>,
}

/// An intent without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenIntent {
    pub id: String,
    /// The fingerprint of the command, or the plan of a worktree.
    pub fingerprint: String,
    pub since: Timestamp,
}

const FIND: &str = "SELECT words, answer FROM requests WHERE id = $1";
const OPEN: &str = "SELECT id, words, created_at FROM requests WHERE answer IS NULL ORDER BY created_at, id";
const UPSERT: &str = "INSERT INTO requests (id, words, answer, created_at) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (id) DO UPDATE SET answer = excluded.answer";
const DELETE_OLD: &str = "DELETE FROM requests WHERE created_at < $1";
const DELETE_OPEN: &str = "DELETE FROM requests WHERE id = $1 AND answer IS NULL";
const DELETE: &str = "DELETE FROM requests WHERE id = $1";

pub fn find(tx: &ReadTx<'_>, id: &str) -> Result<Option<StoredResponse>, StoreError> {
    sql::first(tx.conn(), FIND, &[&id], |row| Ok(StoredResponse { fingerprint: row.get(0)?, answer: row.get(1)? }))
}

/// The intents that have no answer yet, oldest first.
pub fn open_intents(tx: &ReadTx<'_>) -> Result<Vec<OpenIntent>, StoreError> {
    sql::rows(tx.conn(), OPEN, &[], |row| {
        Ok(OpenIntent { id: row.get(0)?, fingerprint: row.get(1)?, since: row.get::<Timestamp>(2)? })
    })
}

/// Records an intent (`answer` is `None`) or the answer to it, under the idempotency key `id`. Also deletes requests older than a
/// week.
pub fn upsert(tx: &WriteTx<'_>, id: &str, fingerprint: &str, answer: Option<&str>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), DELETE_OLD, &[&(tx.now().millis() - RETENTION_MS)])?;
    sql::execute(tx.conn(), UPSERT, &[&id, &fingerprint, &answer, &tx.now()])?;
    Ok(())
}

/// Deletes an intent without an answer, because its command had no effect: a repetition may try again.
pub fn delete_open(tx: &WriteTx<'_>, id: &str) -> Result<(), StoreError> {
    sql::execute(tx.conn(), DELETE_OPEN, &[&id])?;
    Ok(())
}

/// Deletes a request with its answer, after its effect was undone.
pub fn delete(tx: &WriteTx<'_>, id: &str) -> Result<(), StoreError> {
    sql::execute(tx.conn(), DELETE, &[&id])?;
    Ok(())
}
