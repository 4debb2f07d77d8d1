//! Shared by the approval actions: lookup and description.

use anyhow::Result;

use crate::{
    actions::{core::lookup, sessions::report::activity},
    domain::{
        Refusal,
        approval::Approval,
        session::{ANSWER_SOURCE, Activity},
    },
    store::{ReadTx, WriteTx, approvals},
    wire::tool_input,
};

pub(super) use crate::domain::session::APPROVAL_SOURCE as SOURCE;

pub(super) fn find(tx: &ReadTx<'_>, id: i64) -> Result<Approval> {
    approvals::find(tx, id)?.ok_or_else(|| Refusal::not_found("approval", id.to_string()).into())
}

/// The `waiting_for` text of a session while the approval is pending.
pub(super) fn describe(approval: &Approval) -> String {
    let input = serde_json::from_str(&approval.input).unwrap_or_default();
    let about = tool_input::summary(&input);
    let colon = if about.is_empty() { "" } else { ": " };
    format!("permission: {}{colon}{about}", approval.tool)
}

/// Sets the answered session to busy, unless it waits for another answer.
pub(super) fn mark_busy(tx: &WriteTx<'_>, approval: &Approval) -> Result<()> {
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

/// Sets the session to busy whose question was answered on its screen, unless it waits for another answer.
pub(super) fn mark_answered(tx: &WriteTx<'_>, approval: &Approval) -> Result<()> {
    let session = lookup::session(tx, &approval.session)?;
    let is_asking = session.activity == Activity::RequiresAction && approvals::pending_of(tx, &session.id)?.is_empty();
    if is_asking && !session.status.is_final() && session.check_run_id(Some(&approval.run_id)).is_ok() {
        activity::set_activity(tx, &session, Activity::Busy, None, ANSWER_SOURCE)?;
    }
    Ok(())
}
