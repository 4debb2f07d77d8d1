//! An approval as a document.

use serde::Serialize;
use serde_json::Value;

use super::values::time;
use crate::domain::approval::{Approval, ApprovalStatus};

/// An approval. Its input is the tool's, masked and shortened; one that was very long is a cut text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ApprovalView {
    /// Its number.
    pub id: i64,
    /// The session that asks.
    pub session_id: String,
    /// The run of that session.
    pub run_id: String,
    /// The provider that asks.
    pub provider: String,
    /// The tool that it would use.
    pub tool: String,
    /// The tool's input, masked and shortened; a cut text if it was very long.
    pub input: Value,
    /// Whether a hook waits for the answer.
    pub answerable: bool,
    /// Whether it was answered, and how.
    pub status: ApprovalStatus,
    /// Why it was answered so, or why it lapsed.
    pub reason: Option<String>,
    /// Since when it is asked.
    pub asked_at: String,
    /// When it was answered or lapsed.
    pub answered_at: Option<String>,
    /// The actor that answered it.
    pub answered_by: Option<String>,
}

impl From<&Approval> for ApprovalView {
    fn from(approval: &Approval) -> Self {
        Self {
            id: approval.id,
            session_id: approval.session.to_string(),
            run_id: approval.run_id.to_string(),
            provider: approval.provider.clone(),
            tool: approval.tool.clone(),
            input: serde_json::from_str(&approval.input).unwrap_or_else(|_| Value::String(approval.input.clone())),
            answerable: approval.answerable,
            status: approval.status,
            reason: approval.reason.clone(),
            asked_at: approval.asked_at.to_string(),
            answered_at: time(approval.answered_at),
            answered_by: approval.answered_by.clone(),
        }
    }
}
