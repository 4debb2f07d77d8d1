//! Withdraws a permission request that needs no answer any more.

use anyhow::Result;

use super::common::{find, mark_busy};
use crate::{
    actions::{App, core::approval_state::event},
    domain::{EventKind, approval::ApprovalStatus},
    store::approvals,
};

/// Expires a pending request because of `why`: `pending` → `lapsed`. One that is answered stays as it is. A session that waits for
/// nothing else becomes busy.
///
/// # Errors
/// `not_found`; store errors.
pub fn withdraw(app: &App, id: i64, why: &str) -> Result<()> {
    app.transaction(|tx| {
        let approval = find(tx, id)?;
        if approval.status != ApprovalStatus::Pending {
            return Ok(());
        }
        let approval = approvals::resolve(tx, approval, ApprovalStatus::Lapsed, Some(why))?;
        tx.record(&event(EventKind::ApprovalLapsed, &approval).with("reason", why))?;
        mark_busy(tx, &approval)
    })
}
