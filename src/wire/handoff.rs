//! A handoff as a document.

use serde::Serialize;

use super::values::time;
use crate::domain::handoff::Handoff;

/// A handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HandoffView {
    /// Its number.
    pub id: i64,
    /// The task.
    pub task_id: String,
    /// The role that offers it.
    pub from_role: Option<String>,
    /// The role that it is for.
    pub to_role: Option<String>,
    /// The lane that it is for.
    pub to_lane: Option<String>,
    /// Whether it was answered, and how.
    #[cfg_attr(test, schemars(with = "crate::domain::handoff::HandoffStatus"))]
    pub status: &'static str,
    /// The state of the work, in words.
    pub summary: String,
    /// Particulars, as the creator wrote them.
    pub payload: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// When it was answered.
    pub answered_at: Option<String>,
    /// The actor that answered it.
    pub answered_by: Option<String>,
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
