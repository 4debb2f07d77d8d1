//! Waits for the answer to an approval, for the hook that returns it to the provider.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::common::{SOURCE, describe, find};
use crate::{
    actions::{
        App,
        core::{errors, lookup},
        sessions::report::activity,
    },
    domain::{
        approval::{Approval, ApprovalStatus},
        session::Activity,
    },
    store::{WriteTx, approvals},
};

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// Whether the tool may be used.
    pub allow: bool,
    /// The reason, if given.
    pub reason: Option<String>,
}

impl ApprovalDecision {
    fn from_approval(approval: &Approval) -> Option<Self> {
        match approval.status {
            ApprovalStatus::Allowed => Some(Self { allow: true, reason: approval.reason.clone() }),
            ApprovalStatus::Denied => Some(Self { allow: false, reason: approval.reason.clone() }),
            ApprovalStatus::Pending | ApprovalStatus::Lapsed => None,
        }
    }
}

/// Waits until an approval is answered, at most for `limit`. `None` when it expired or was not answered in time: then the
/// provider asks the person itself, and a later answer is refused. A session that gets an answer becomes busy.
///
/// # Errors
/// `not_found`; store errors.
pub fn wait(app: &App, id: i64, limit: Duration) -> Result<Option<ApprovalDecision>> {
    let waiter = app.waiter("approval")?;
    let deadline = Instant::now() + limit;
    loop {
        let approval = app.read(|tx| find(tx, id))?;
        if approval.status != ApprovalStatus::Pending {
            break;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        waiter.wait(Some(left)).map_err(errors::internal)?;
    }
    // An answer up to here is returned; a later one is refused.
    app.transaction(|tx| {
        let approval = find(tx, id)?;
        match approval.status {
            ApprovalStatus::Pending => approvals::mark_unanswerable(tx, id)?,
            ApprovalStatus::Allowed | ApprovalStatus::Denied => mark_busy(tx, &approval)?,
            ApprovalStatus::Lapsed => {}
        }
        Ok(ApprovalDecision::from_approval(&approval))
    })
}

/// Sets the answered session to busy, unless it waits for another answer.
fn mark_busy(tx: &WriteTx<'_>, approval: &Approval) -> Result<()> {
    let session = lookup::session(tx, &approval.session)?;
    let is_ours = session.activity == Activity::RequiresAction && session.activity_source.as_deref() == Some(SOURCE);
    if session.status.is_final() || session.check_run_id(Some(&approval.run_id)).is_err() || !is_ours {
        return Ok(());
    }
    match approvals::pending_of(tx, &session.id)?.last() {
        Some(other) => activity::set_activity(tx, &session, Activity::RequiresAction, Some(&describe(other)), SOURCE)?,
        None => activity::set_activity(tx, &session, Activity::Busy, None, SOURCE)?,
    };
    Ok(())
}
