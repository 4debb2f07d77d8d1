//! Claims as rows: the history of every task's claimants.

use super::{ReadTx, StoreError, WriteTx, sql};
use crate::domain::claim::{Claim, ClaimEnd};
use crate::domain::{LaneName, SessionId, TaskId};
use crate::env::Timestamp;

/// A live or ended claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPeriod {
    pub epoch: i64,
    pub claimant: String,
    pub claimed_at: Timestamp,
    /// The end of the claim and its reason; `None` while it is live.
    pub ended: Option<(Timestamp, ClaimEnd)>,
}

/// The place where a claim is worked on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimPlace {
    pub lane: Option<LaneName>,
    /// The worktree in which the claim was made, when no lane names one.
    pub worktree: Option<String>,
    /// Whether the claim put the task into its lane.
    pub assigned_lane: bool,
}

/// The newest claim of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestClaim {
    /// The session, when the claimant is one.
    pub session: Option<SessionId>,
    pub place: ClaimPlace,
    pub is_live: bool,
}

/// The claims of a task from its first one, or from the last that was no continuation, to the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimChain {
    pub first_epoch: i64,
    /// When the first claim of the chain was made.
    pub since: Timestamp,
}

const INSERT: &str = "INSERT INTO claims (task_id, epoch, claimant, session_id, role, claimed_at, lane, worktree, \
     assigned_lane) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const END: &str = "UPDATE claims SET ended_at = $2, ended_as = $3 WHERE task_id = $1 AND ended_at IS NULL";
const RESUME: &str = "UPDATE claims SET ended_at = NULL, ended_as = NULL WHERE task_id = $1 \
     AND epoch = (SELECT max(epoch) FROM claims WHERE task_id = $1) \
     RETURNING claimant, session_id, role, epoch, claimed_at";
const LATEST: &str = "SELECT max(epoch) FROM claims WHERE task_id = $1 AND claimant = $2";
const CLAIMANTS_SINCE: &str =
    "SELECT claimant FROM claims WHERE task_id = $1 AND epoch > $2 GROUP BY claimant ORDER BY min(epoch)";
const HISTORY: &str =
    "SELECT epoch, claimant, claimed_at, ended_at, ended_as FROM claims WHERE task_id = $1 ORDER BY epoch DESC";
const NEWEST: &str = "SELECT session_id, lane, worktree, assigned_lane, ended_at IS NULL FROM claims \
     WHERE task_id = $1 ORDER BY epoch DESC LIMIT 1";
const HOLDERS: &str = "SELECT DISTINCT session_id FROM claims WHERE ended_at IS NULL AND session_id IS NOT NULL \
     AND ($1 IS NULL OR lane = $1) AND ($2 IS NULL OR task_id = $2) ORDER BY session_id";
const LIVE_IN_LANE: &str =
    "SELECT task_id FROM claims WHERE ended_at IS NULL AND lane = $1 AND session_id IS NOT NULL ORDER BY task_id";

const HAS_WORKED: &str = "SELECT 1 FROM claims WHERE session_id = $1 AND lane = $2 AND ended_at IS NOT NULL LIMIT 1";

/// Whether a session has claimed a task in a lane, and the claim has ended.
pub fn has_worked(tx: &ReadTx<'_>, session: &SessionId, lane: &LaneName) -> Result<bool, StoreError> {
    Ok(sql::first(tx.conn(), HAS_WORKED, &[&session, &lane], |row| row.get::<i64>(0))?.is_some())
}

/// Inserts a live claim.
/// Fails while another claim on the task is live.
pub fn insert(tx: &WriteTx<'_>, task: &TaskId, claim: &Claim, place: &ClaimPlace) -> Result<(), StoreError> {
    sql::execute(
        tx.conn(),
        INSERT,
        &[
            &task, &claim.epoch, &claim.claimant, &claim.session, &claim.role, &claim.claimed_at, &place.lane,
            &place.worktree, &place.assigned_lane,
        ],
    )?;
    Ok(())
}

/// Ends the live claim of a task, if there is one.
pub fn end(tx: &WriteTx<'_>, task: &TaskId, how: ClaimEnd) -> Result<(), StoreError> {
    sql::execute(tx.conn(), END, &[&task, &tx.now(), &how])?;
    Ok(())
}

/// Takes the end of a task's newest claim back. Returns the claim, without its lease; `None` when the task was never claimed.
pub fn resume(tx: &WriteTx<'_>, task: &TaskId) -> Result<Option<Claim>, StoreError> {
    sql::first(tx.conn(), RESUME, &[&task], |row| {
        Ok(Claim {
            claimant: row.get(0)?,
            session: row.get(1)?,
            role: row.get(2)?,
            epoch: row.get(3)?,
            claimed_at: row.get(4)?,
            lease_until: None,
            lease: None,
        })
    })
}

/// The epoch of the newest claim that `claimant` ever had on a task; `None` when there was none.
pub fn latest_epoch(tx: &ReadTx<'_>, task: &TaskId, claimant: &str) -> Result<Option<i64>, StoreError> {
    Ok(sql::first(tx.conn(), LATEST, &[&task, &claimant], |row| row.get(0))?.flatten())
}

/// The claimants of the claims on a task whose epoch is above `epoch`, oldest first.
pub fn claimants_since(tx: &ReadTx<'_>, task: &TaskId, epoch: i64) -> Result<Vec<String>, StoreError> {
    sql::rows(tx.conn(), CLAIMANTS_SINCE, &[&task, &epoch], |row| row.get(0))
}

/// The newest claim of a task, live or ended.
pub fn newest(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<NewestClaim>, StoreError> {
    sql::first(tx.conn(), NEWEST, &[&task], |row| {
        Ok(NewestClaim {
            session: row.get(0)?,
            place: ClaimPlace { lane: row.get(1)?, worktree: row.get(2)?, assigned_lane: row.get(3)? },
            is_live: row.get(4)?,
        })
    })
}

/// The unbroken chain of continuations that ends with the newest claim of a task; `None` when it was never claimed.
pub fn chain(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<ClaimChain>, StoreError> {
    let history = history(tx, task)?;
    let mut chain = None;
    for period in history {
        // A restore gives every claim a new epoch and nothing else.
        let is_continued = matches!(period.ended, Some((_, ClaimEnd::Continued | ClaimEnd::Restored)));
        if chain.is_some() && !is_continued {
            break;
        }
        chain = Some(ClaimChain { first_epoch: period.epoch, since: period.claimed_at });
    }
    Ok(chain)
}

/// The sessions with live claims. Only claims that were made in `lane` count, if it is given, and only those on `task`, if it is
/// given.
pub fn claiming_sessions(
    tx: &ReadTx<'_>,
    lane: Option<&LaneName>,
    task: Option<&TaskId>,
) -> Result<Vec<SessionId>, StoreError> {
    let (lane, task) = (lane.map(LaneName::as_str), task.map(TaskId::as_str));
    sql::rows(tx.conn(), HOLDERS, &[&lane, &task], |row| row.get::<SessionId>(0))
}

/// The tasks that sessions have claimed in a lane and whose claims are still live.
pub fn live_in_lane(tx: &ReadTx<'_>, lane: &LaneName) -> Result<Vec<TaskId>, StoreError> {
    sql::rows(tx.conn(), LIVE_IN_LANE, &[&lane], |row| row.get::<TaskId>(0))
}

/// All claims of a task, newest first.
pub fn history(tx: &ReadTx<'_>, task: &TaskId) -> Result<Vec<ClaimPeriod>, StoreError> {
    sql::rows(tx.conn(), HISTORY, &[&task], |row| {
        let ended = match (row.get::<Option<i64>>(3)?, row.get::<Option<String>>(4)?) {
            (Some(at), Some(how)) => {
                Some((Timestamp::from_millis(at), sql::parse_value("a claim's end", &how, ClaimEnd::parse)?))
            }
            _ => None,
        };
        Ok(ClaimPeriod { epoch: row.get(0)?, claimant: row.get(1)?, claimed_at: row.get(2)?, ended })
    })
}
