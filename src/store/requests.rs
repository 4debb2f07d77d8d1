//! Answers to `--request-id`, as rows: a repeat after an unknown outcome has one effect and gets the first answer.

use super::{ReadTx, StoreError, WriteTx, sql};
use crate::env::Timestamp;

/// How long an answer is remembered, in milliseconds: a week.
const RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// What is known of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// The digest of the command's words.
    pub fingerprint: String,
    /// The answer, as JSON text; `None` while only the intention is written.
    pub answer: Option<String>,
}

/// An intention that nothing has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenIntent {
    /// The request's id.
    pub id: String,
    /// The digest of its words, or what was intended.
    pub fingerprint: String,
    /// Since when.
    pub since: Timestamp,
}

const FIND: &str = "SELECT words, answer FROM requests WHERE id = $1";
const OPEN: &str = "SELECT id, words, created_at FROM requests WHERE answer IS NULL ORDER BY created_at, id";
const UPSERT: &str = "INSERT INTO requests (id, words, answer, created_at) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (id) DO UPDATE SET answer = excluded.answer";
const DELETE_OLD: &str = "DELETE FROM requests WHERE created_at < $1";
const DELETE_OPEN: &str = "DELETE FROM requests WHERE id = $1 AND answer IS NULL";
const DELETE: &str = "DELETE FROM requests WHERE id = $1";

/// What is known of this request.
///
/// # Errors
/// As the store fails.
pub fn find(tx: &ReadTx<'_>, id: &str) -> Result<Option<StoredResponse>, StoreError> {
    sql::first(tx.conn(), FIND, &[&id], |row| Ok(StoredResponse { fingerprint: row.get(0)?, answer: row.get(1)? }))
}

/// The intentions that nothing has answered, oldest first.
///
/// # Errors
/// As the store fails.
pub fn open_intents(tx: &ReadTx<'_>) -> Result<Vec<OpenIntent>, StoreError> {
    sql::rows(tx.conn(), OPEN, &[], |row| {
        Ok(OpenIntent { id: row.get(0)?, fingerprint: row.get(1)?, since: Timestamp::from_millis(row.get(2)?) })
    })
}

/// Writes an intention (`answer` is `None`) or an answer, and forgets what is older than a week.
///
/// # Errors
/// As the store fails.
pub fn upsert(tx: &WriteTx<'_>, id: &str, words: &str, answer: Option<&str>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), DELETE_OLD, &[&(tx.now().millis() - RETENTION_MS)])?;
    sql::execute(tx.conn(), UPSERT, &[&id, &words, &answer, &tx.now().millis()])?;
    Ok(())
}

/// Takes an intention back: what it was for did not come about, so a repeat may try again.
///
/// # Errors
/// As the store fails.
pub fn delete_open(tx: &WriteTx<'_>, id: &str) -> Result<(), StoreError> {
    sql::execute(tx.conn(), DELETE_OPEN, &[&id])?;
    Ok(())
}

/// Forgets a request, whatever it was answered with: what it was for failed and was taken back.
///
/// # Errors
/// As the store fails.
pub fn delete(tx: &WriteTx<'_>, id: &str) -> Result<(), StoreError> {
    sql::execute(tx.conn(), DELETE, &[&id])?;
    Ok(())
}
