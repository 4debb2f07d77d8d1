//! The pull requests of lanes as rows, and what was told about them.

use super::sql::columns::{columns, text};
use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx, landings};
use crate::domain::LaneName;
use crate::domain::pull_request::LanePullRequest;

columns! {
    LanePullRequest {
        id, tasks;
        lane, branch, base, commit = "commit_id", pushed, number, url, state, summary, for_people, host_id, opened_at, synced_at, ended_at,
    }
}

const SELECT: &str = text!("SELECT ", COLUMNS, " FROM pull_requests ");
const OPEN: &str = text!(SELECT, "WHERE ended_at IS NULL ORDER BY id");
const OPEN_OF: &str = text!(SELECT, "WHERE ended_at IS NULL AND lane = $1");
const NEWEST: &str =
    text!(SELECT, "WHERE state <> 'merged' AND id IN (SELECT max(id) FROM pull_requests GROUP BY lane) ORDER BY id");
const INSERT: &str =
    text!("INSERT INTO pull_requests (", WRITTEN, ", tasks) VALUES (", PLACEHOLDERS, ", $15) RETURNING id");
const UPDATE: &str = "UPDATE pull_requests SET base = $2, commit_id = $3, pushed = $4, number = $5, url = $6, state = $7, \
     summary = $8, for_people = $9, synced_at = $10, ended_at = $11, tasks = $12 WHERE id = $1";
const TELL: &str = "INSERT INTO pull_request_facts (pull_request, fact, told_at) VALUES ($1, $2, $3) \
     ON CONFLICT (pull_request, fact) DO NOTHING";
const FORGET: &str = "DELETE FROM pull_request_facts WHERE pull_request = $1 AND fact = $2";
const IS_TOLD: &str = "SELECT pull_request FROM pull_request_facts WHERE pull_request = $1 AND fact = $2";

/// The pull requests that have not ended, oldest first.
pub fn open(tx: &ReadTx<'_>) -> Result<Vec<LanePullRequest>, StoreError> {
    sql::rows(tx.conn(), OPEN, &[], read)
}

/// The lane's pull request that has not ended.
pub fn open_of(tx: &ReadTx<'_>, lane: &LaneName) -> Result<Option<LanePullRequest>, StoreError> {
    sql::first(tx.conn(), OPEN_OF, &[&lane], read)
}

/// The newest pull request of each lane, unless it was merged.
pub fn newest(tx: &ReadTx<'_>) -> Result<Vec<LanePullRequest>, StoreError> {
    sql::rows(tx.conn(), NEWEST, &[], read)
}

/// Whether a fact about a pull request was told.
pub fn is_told(tx: &ReadTx<'_>, id: i64, fact: &str) -> Result<bool, StoreError> {
    Ok(sql::first(tx.conn(), IS_TOLD, &[&id, &fact], |row| row.get::<i64>(0))?.is_some())
}

/// Records that a fact about a pull request was told.
pub fn tell(tx: &WriteTx<'_>, id: i64, fact: &str) -> Result<(), StoreError> {
    let now = tx.now();
    sql::execute(tx.conn(), TELL, &[&id, &fact, &now])?;
    Ok(())
}

/// Forgets that a fact about a pull request was told.
pub fn forget(tx: &WriteTx<'_>, id: i64, fact: &str) -> Result<(), StoreError> {
    sql::execute(tx.conn(), FORGET, &[&id, &fact])?;
    Ok(())
}

/// Adds a pull request when its id is 0, else writes those columns that change. Returns its id.
pub fn save(tx: &WriteTx<'_>, pull: &LanePullRequest) -> Result<i64, StoreError> {
    let tasks = landings::tasks_text(&pull.tasks);
    if pull.id == 0 {
        let mut all = values(pull);
        all.push(&tasks);
        return Ok(sql::first(tx.conn(), INSERT, &all, |row| row.get(0))?.unwrap_or_default());
    }
    let LanePullRequest { base, commit, pushed, number, url, state, summary, for_people, synced_at, ended_at, .. } =
        pull;
    sql::execute(
        tx.conn(),
        UPDATE,
        &[&pull.id, base, commit, pushed, number, url, state, summary, for_people, synced_at, ended_at, &tasks],
    )?;
    Ok(pull.id)
}
