//! A handoff: work offered to another role or lane.

use serde::Serialize;

use super::string_enum::string_enum;
use super::{LaneName, Role, TaskId};
use crate::env::Timestamp;

string_enum! {
    /// Whether it was answered, and how.
    HandoffStatus { Open => "open", Accepted => "accepted", Declined => "declined", Withdrawn => "withdrawn" }
}

/// A handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Handoff {
    /// Its number.
    pub id: i64,
    /// The task.
    #[serde(rename = "task_id")]
    pub task: TaskId,
    /// The role that offers it.
    pub from_role: Option<Role>,
    /// The role that it is for.
    pub to_role: Option<Role>,
    /// The lane that it is for.
    pub to_lane: Option<LaneName>,
    /// Whether it was answered, and how.
    pub status: HandoffStatus,
    /// The state of the work, in words.
    pub summary: String,
    /// Particulars, as the creator wrote them.
    pub payload: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was answered.
    pub answered_at: Option<Timestamp>,
    /// The actor that answered it.
    pub answered_by: Option<String>,
    /// The actor that made it: a session's id or `user@host`.
    #[serde(skip)]
    pub from_actor: String,
    /// The task's epoch when it was made; one made under an older epoch moves no claim.
    #[serde(skip)]
    pub epoch: i64,
}

impl Handoff {
    /// The receiver as a part of a sentence: `role reviewer`, `lane api`, or `no receiver`.
    pub fn recipient(&self) -> String {
        match (&self.to_role, &self.to_lane) {
            (Some(role), _) => format!("role {role}"),
            (None, Some(lane)) => format!("lane {lane}"),
            (None, None) => "no receiver".to_owned(),
        }
    }
}
