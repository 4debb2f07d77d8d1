//! Claims as rows: the history of every task's claimants.

use super::{ReadTx, StoreError, WriteTx, sql};
use crate::{
    domain::{
        Role, SessionId, TaskId,
        claim::{Claim, ClaimEnd},
    },
    env::Timestamp,
};

/// A live or ended claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPeriod {
    /// The epoch.
    pub epoch: i64,
    /// The claimant.
    pub claimant: String,
    /// The start of the claim.
    pub claimed_at: Timestamp,
    /// The end of the claim and its reason; `None` while it is live.
    pub ended: Option<(Timestamp, ClaimEnd)>,
}

const INSERT: &str = "INSERT INTO claims (task_id, epoch, claimant, session_id, role, claimed_at) \
     VALUES ($1, $2, $3, $4, $5, $6)";
const END: &str = "UPDATE claims SET ended_at = $2, ended_as = $3 WHERE task_id = $1 AND ended_at IS NULL";
const LATEST: &str = "SELECT max(epoch) FROM claims WHERE task_id = $1 AND claimant = $2";
const CLAIMANTS_SINCE: &str =
    "SELECT claimant FROM claims WHERE task_id = $1 AND epoch > $2 GROUP BY claimant ORDER BY min(epoch)";
const HISTORY: &str =
    "SELECT epoch, claimant, claimed_at, ended_at, ended_as FROM claims WHERE task_id = $1 ORDER BY epoch DESC";
const LAST_CLAIMED_AT: &str = "SELECT claimed_at FROM claims WHERE task_id = $1 ORDER BY epoch DESC LIMIT 1";

/// Inserts a live claim.
///
/// # Errors
/// As the store fails, also while another claim on the task is live.
pub fn insert(tx: &WriteTx<'_>, task: &TaskId, claim: &Claim) -> Result<(), StoreError> {
    sql::execute(
        tx.conn(),
        INSERT,
        &[
            &task.as_str(),
            &claim.epoch,
            &claim.claimant,
            &claim.session.as_ref().map(SessionId::as_str),
            &claim.role.as_ref().map(Role::as_str),
            &claim.claimed_at.millis(),
        ],
    )?;
    Ok(())
}

/// Ends the live claim of a task, if there is one.
///
/// # Errors
/// As the store fails.
pub fn end(tx: &WriteTx<'_>, task: &TaskId, how: ClaimEnd) -> Result<(), StoreError> {
    sql::execute(tx.conn(), END, &[&task.as_str(), &tx.now().millis(), &how.as_str()])?;
    Ok(())
}

/// The epoch of the newest claim that `claimant` ever had on a task.
///
/// # Errors
/// As the store fails.
pub fn latest_epoch(tx: &ReadTx<'_>, task: &TaskId, claimant: &str) -> Result<Option<i64>, StoreError> {
    Ok(sql::first(tx.conn(), LATEST, &[&task.as_str(), &claimant], |row| Ok(row.get(0)?))?.flatten())
}

/// The claimants of a task under epochs above this one, oldest first.
///
/// # Errors
/// As the store fails.
pub fn claimants_since(tx: &ReadTx<'_>, task: &TaskId, epoch: i64) -> Result<Vec<String>, StoreError> {
    sql::rows(tx.conn(), CLAIMANTS_SINCE, &[&task.as_str(), &epoch], |row| Ok(row.get(0)?))
}

/// When a task was last claimed, in milliseconds.
///
/// # Errors
/// As the store fails.
pub fn last_claimed_at(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<i64>, StoreError> {
    sql::first(tx.conn(), LAST_CLAIMED_AT, &[&task.as_str()], |row| Ok(row.get(0)?))
}

/// All claimants of a task, newest first.
///
/// # Errors
/// As the store fails.
pub fn history(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<ClaimPeriod>, StoreError> {
    sql::rows(tx.conn(), HISTORY, &[&task.as_str()], |row| {
        let ended = match (row.get::<_, Option<i64>>(3)?, row.get::<_, Option<String>>(4)?) {
            (Some(at), Some(how)) => {
                Some((Timestamp::from_millis(at), sql::parse_value("a claim's end", &how, ClaimEnd::parse)?))
            }
            _ => None,
        };
        Ok(ClaimPeriod {
            epoch: row.get(0)?,
            claimant: row.get(1)?,
            claimed_at: Timestamp::from_millis(row.get(2)?),
            ended,
        })
    })
}
