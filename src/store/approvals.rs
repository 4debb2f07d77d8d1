//! Approvals as rows. Pending approvals are found through partial
//! indexes, so the cost does not depend on the number of answered ones.

use super::{
    ReadTx, StoreError, WriteTx,
    sql::{self, Row},
};
use crate::{
    domain::{
        RunId, SessionId,
        approval::{Approval, ApprovalStatus},
    },
    env::Timestamp,
};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, session_id, run_id, provider, tool, input, answerable, status, reason, asked_at, answered_at, ",
            "answered_by FROM approvals ",
            $rest
        )
    };
}

const INSERT: &str = "INSERT INTO approvals (session_id, run_id, provider, tool, input, answerable, status, asked_at) \
     VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7) RETURNING id";
const RESOLVE: &str = "UPDATE approvals SET status = $2, reason = $3, answered_at = $4, answered_by = $5 \
     WHERE id = $1 AND status = 'pending'";
const MARK_UNANSWERABLE: &str = "UPDATE approvals SET answerable = 0 WHERE id = $1 AND status = 'pending'";
const ONE: &str = select!("WHERE id = $1");
const ALL: &str = select!("ORDER BY id");
const PENDING: &str = select!("INDEXED BY approvals_pending WHERE status = 'pending' ORDER BY id");
const PENDING_OF: &str =
    select!("INDEXED BY approvals_session WHERE status = 'pending' AND session_id = $1 ORDER BY id");

fn read(row: &Row<'_>) -> Result<Approval, StoreError> {
    Ok(Approval {
        id: row.get(0)?,
        session: sql::parse_id("a session id", &row.get::<String>(1)?, SessionId::parse)?,
        run_id: RunId::from(row.get::<String>(2)?),
        provider: row.get(3)?,
        tool: row.get(4)?,
        input: row.get(5)?,
        answerable: row.get(6)?,
        status: sql::parse_value("an approval's status", &row.get::<String>(7)?, ApprovalStatus::parse)?,
        reason: row.get(8)?,
        asked_at: Timestamp::from_millis(row.get(9)?),
        answered_at: row.get::<Option<i64>>(10)?.map(Timestamp::from_millis),
        answered_by: row.get(11)?,
    })
}

/// Adds a pending approval; the store sets its id and time.
///
/// # Errors
/// As the store fails, also when its session is unknown.
pub fn insert(tx: &WriteTx<'_>, approval: Approval) -> Result<Approval, StoreError> {
    let id = sql::first(
        tx.conn(),
        INSERT,
        &[
            &approval.session.as_str(),
            &approval.run_id.as_str(),
            &approval.provider,
            &approval.tool,
            &approval.input,
            &approval.answerable,
            &tx.now().millis(),
        ],
        |row| row.get(0),
    )?;
    Ok(Approval { id: id.unwrap_or_default(), status: ApprovalStatus::Pending, asked_at: tx.now(), ..approval })
}

/// Ends a pending approval: answered by the actor of this transaction, or expired.
pub fn resolve(
    tx: &WriteTx<'_>,
    approval: Approval,
    status: ApprovalStatus,
    reason: Option<&str>,
) -> Result<Approval, StoreError> {
    let by = (status != ApprovalStatus::Lapsed).then(|| tx.actor().to_owned());
    sql::execute(tx.conn(), RESOLVE, &[&approval.id, &status.as_str(), &reason, &tx.now().millis(), &by])?;
    Ok(Approval { status, reason: reason.map(str::to_owned), answered_at: Some(tx.now()), answered_by: by, ..approval })
}

/// Records that an answer no longer reaches the provider.
pub fn mark_unanswerable(tx: &WriteTx<'_>, id: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), MARK_UNANSWERABLE, &[&id])?;
    Ok(())
}

/// The approval of this id.
pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<Approval>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}

/// Every approval, or the pending ones, oldest first.
pub fn all(tx: &ReadTx<'_>, pending: bool) -> Result<Vec<Approval>, StoreError> {
    sql::rows(tx.conn(), if pending { PENDING } else { ALL }, &[], read)
}

/// A session's pending approvals, oldest first.
pub fn pending_of(tx: &ReadTx<'_>, session: &SessionId) -> Result<Vec<Approval>, StoreError> {
    sql::rows(tx.conn(), PENDING_OF, &[&session.as_str()], read)
}
