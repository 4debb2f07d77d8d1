//! An approval as a document.

use serde::Serialize;
use serde_json::Value;

use super::values::time;
use crate::domain::approval::Approval;

/// An approval. Its input is the tool's, masked and shortened; one that was very long is a cut text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "documented at `domain::approval::Approval`")]
pub struct ApprovalView {
    pub id: i64,
    pub session_id: String,
    pub run_id: String,
    pub provider: String,
    pub tool: String,
    pub input: Value,
    pub answerable: bool,
    pub status: &'static str,
    pub reason: Option<String>,
    pub asked_at: String,
    pub answered_at: Option<String>,
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
            status: approval.status.as_str(),
            reason: approval.reason.clone(),
            asked_at: approval.asked_at.to_string(),
            answered_at: time(approval.answered_at),
            answered_by: approval.answered_by.clone(),
        }
    }
}
