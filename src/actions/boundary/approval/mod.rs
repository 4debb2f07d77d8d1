//! What a provider asks a person to permit: one list over all sessions, answered from here as long as the provider listens.

mod answer;
mod list;
mod request;
mod wait;

pub use crate::actions::core::approval_state::expire_pending;
pub use answer::answer;
pub use list::list;
pub use request::request;
pub use wait::{ApprovalDecision, wait};

use anyhow::Result;

use crate::{
    domain::{Refusal, approval::Approval},
    store::{ReadTx, approvals},
};

/// The word under which a session's activity is reported from here.
const SOURCE: &str = "approval";

fn find(tx: &ReadTx<'_>, id: i64) -> Result<Approval> {
    approvals::find(tx, id)?.ok_or_else(|| Refusal::not_found("approval", id.to_string()).into())
}

/// What a session waits for while this is pending.
fn describe(approval: &Approval) -> String {
    let input = serde_json::from_str(&approval.input).unwrap_or_default();
    let about = crate::wire::tool_input::summary(&input);
    let colon = if about.is_empty() { "" } else { ": " };
    format!("permission: {}{colon}{about}", approval.tool)
}
