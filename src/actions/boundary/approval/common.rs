//! Shared by the approval actions: lookup and description.

use anyhow::Result;

use crate::{
    domain::{Refusal, approval::Approval},
    store::{ReadTx, approvals},
    wire::tool_input,
};

/// The source of activity reported by approvals.
pub(in crate::actions) const SOURCE: &str = "approval";

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
