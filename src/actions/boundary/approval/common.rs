//! Shared by the approval actions: lookup and description.

use anyhow::Result;

use crate::{
    domain::{Refusal, approval::Approval},
    store::{ReadTx, approvals},
    wire::tool_input,
};

/// The word under which a session's activity is reported from here.
pub(super) const SOURCE: &str = "approval";

pub(super) fn find(tx: &ReadTx<'_>, id: i64) -> Result<Approval> {
    approvals::find(tx, id)?.ok_or_else(|| Refusal::not_found("approval", id.to_string()).into())
}

/// What a session waits for while this is pending.
pub(super) fn describe(approval: &Approval) -> String {
    let input = serde_json::from_str(&approval.input).unwrap_or_default();
    let about = tool_input::summary(&input);
    let colon = if about.is_empty() { "" } else { ": " };
    format!("permission: {}{colon}{about}", approval.tool)
}
