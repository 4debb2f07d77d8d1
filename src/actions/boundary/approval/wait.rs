//! A hook waits for the answer that it carries back to its provider.

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

/// What a person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalDecision {
    /// Whether the tool may be used.
    pub allow: bool,
    /// Why.
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

/// Sleeps until an approval is answered, at most for `limit`. `None` when it lapsed or nobody answered in time: then the
/// provider is to ask the person itself, and an answer from here is refused from then on. The session that gets an answer is
/// busy with it.
///
/// # Errors
/// `not_found`; as the store fails.
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
    // What was answered until now is carried; what comes later is told that it is too late.
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

/// The session that was answered does something again, unless it still waits for another answer.
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
