//! A handoff as a document.

use serde::Serialize;

use super::values::time;
use crate::domain::handoff::Handoff;

/// A handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "documented at `domain::handoff::Handoff`")]
pub struct HandoffView {
    pub id: i64,
    pub task_id: String,
    pub from_role: Option<String>,
    pub to_role: Option<String>,
    pub to_lane: Option<String>,
    pub status: &'static str,
    pub summary: String,
    pub payload: Option<String>,
    pub created_at: String,
    pub answered_at: Option<String>,
    pub answered_by: Option<String>,
}

/// `handoff accept`: the handoff, and who has its task now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AcceptedHandoffView {
    /// The handoff.
    #[serde(flatten)]
    pub handoff: HandoffView,
    /// The claimant of the task; `None` when it is not claimed.
    pub claimant: Option<String>,
    /// The claim's epoch.
    pub epoch: Option<i64>,
}

impl From<&Handoff> for HandoffView {
    fn from(handoff: &Handoff) -> Self {
        Self {
            id: handoff.id,
            task_id: handoff.task.to_string(),
            from_role: handoff.from_role.as_ref().map(ToString::to_string),
            to_role: handoff.to_role.as_ref().map(ToString::to_string),
            to_lane: handoff.to_lane.as_ref().map(ToString::to_string),
            status: handoff.status.as_str(),
            summary: handoff.summary.clone(),
            payload: handoff.payload.clone(),
            created_at: handoff.created_at.to_string(),
            answered_at: time(handoff.answered_at),
            answered_by: handoff.answered_by.clone(),
        }
    }
}
