//! Approvals as rows. Pending approvals are found through partial
//! indexes, so the cost does not depend on the number of answered ones.

use super::sql::columns::{columns, text};
use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::SessionId;
use crate::domain::approval::{Approval, ApprovalStatus};

columns! {
    Approval {
        id, reason, answered_at, answered_by;
        session = "session_id", run_id, provider, tool, input, answerable, status, asked_at,
    }
}

const SELECT: &str = text!("SELECT ", COLUMNS, " FROM approvals ");
const INSERT: &str = text!("INSERT INTO approvals (", WRITTEN, ") VALUES (", PLACEHOLDERS, ") RETURNING id");
const RESOLVE: &str = "UPDATE approvals SET status = $2, reason = $3, answered_at = $4, answered_by = $5 \
     WHERE id = $1 AND status = 'pending'";
const MARK_UNANSWERABLE: &str = "UPDATE approvals SET answerable = 0 WHERE id = $1 AND status = 'pending'";
const ONE: &str = text!(SELECT, "WHERE id = $1");
const ALL: &str = text!(SELECT, "ORDER BY id");
const PENDING: &str = text!(SELECT, "INDEXED BY approvals_pending WHERE status = 'pending' ORDER BY id");
const PENDING_OF: &str =
    text!(SELECT, "INDEXED BY approvals_session WHERE status = 'pending' AND session_id = $1 ORDER BY id");

/// Adds a pending approval; the store sets its id and time.
/// Fails when its session is unknown.
pub fn insert(tx: &WriteTx<'_>, approval: Approval) -> Result<Approval, StoreError> {
    let approval = Approval { status: ApprovalStatus::Pending, asked_at: tx.now(), ..approval };
    let id = sql::first(tx.conn(), INSERT, &values(&approval), |row| row.get(0))?;
    Ok(Approval { id: id.unwrap_or_default(), ..approval })
}

/// Ends a pending approval: answered by the actor of this transaction, or lapsed.
pub fn resolve(
    tx: &WriteTx<'_>,
    approval: Approval,
    status: ApprovalStatus,
    reason: Option<&str>,
) -> Result<Approval, StoreError> {
    let by = (status != ApprovalStatus::Lapsed).then(|| tx.actor().to_owned());
    sql::execute(tx.conn(), RESOLVE, &[&approval.id, &status, &reason, &tx.now(), &by])?;
    Ok(Approval { status, reason: reason.map(str::to_owned), answered_at: Some(tx.now()), answered_by: by, ..approval })
}

/// Records that an answer to this approval would no longer reach the provider.
pub fn mark_unanswerable(tx: &WriteTx<'_>, id: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), MARK_UNANSWERABLE, &[&id])?;
    Ok(())
}

pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<Approval>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}

/// Every approval, or only the pending ones when `pending`; oldest first.
pub fn all(tx: &ReadTx<'_>, pending: bool) -> Result<Vec<Approval>, StoreError> {
    sql::rows(tx.conn(), if pending { PENDING } else { ALL }, &[], read)
}

/// A session's pending approvals, oldest first.
pub fn pending_of(tx: &ReadTx<'_>, session: &SessionId) -> Result<Vec<Approval>, StoreError> {
    sql::rows(tx.conn(), PENDING_OF, &[&session], read)
}
