//! A handoff: work offered to another role or lane.

use super::{LaneName, Role, TaskId, string_enum::string_enum};
use crate::env::Timestamp;

string_enum! {
    /// Whether it was answered, and how.
    HandoffStatus { Open => "open", Accepted => "accepted", Declined => "declined", Withdrawn => "withdrawn" }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    /// Its number.
    pub id: i64,
    pub task: TaskId,
    /// The role that made it.
    pub from_role: Option<Role>,
    /// The actor that made it: a session's id or `user@host`.
    pub from_actor: String,
    /// The role it is for.
    pub to_role: Option<Role>,
    /// The lane it is for.
    pub to_lane: Option<LaneName>,
    /// Whether it was answered, and how.
    pub status: HandoffStatus,
    /// The subject.
    pub summary: String,
    /// The message to the receiver, at length.
    pub payload: Option<String>,
    /// The task's epoch when it was made; one made under an older epoch moves no claim.
    pub epoch: i64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was answered.
    pub answered_at: Option<Timestamp>,
    /// The actor that answered it.
    pub answered_by: Option<String>,
}

impl Handoff {
    /// The role or lane that it is for, as in a sentence.
    pub fn recipient(&self) -> String {
        match (&self.to_role, &self.to_lane) {
            (Some(role), _) => format!("role {role}"),
            (None, Some(lane)) => format!("lane {lane}"),
            (None, None) => "no receiver".to_owned(),
        }
    }
}
