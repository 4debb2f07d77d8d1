//! A checkpoint: a progress note on a task by the agent that works on it. The newest one describes the current state.

use serde::Serialize;

use super::string_enum::string_enum;
use super::{SessionId, TaskId};
use crate::env::Timestamp;

string_enum! {
    /// The state that a checkpoint reports.
    CheckpointState {
        Planned => "planned",
        Active => "active",
        AwaitingInput => "awaiting_input",
        Blocked => "blocked",
        Review => "review",
        Done => "done",
        Parked => "parked",
        Abandoned => "abandoned",
    }
}

string_enum! {
    /// The part of Fairway that recorded a checkpoint which no agent and no person wrote.
    CheckpointOrigin {
        /// A launch for the task.
        Launch => "launch",
        /// The judgement that the session is stale.
        Reconcile => "reconcile",
        /// A provider's hook.
        Hook => "hook",
        /// A provider event.
        Provider => "provider",
    }
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Checkpoint {
    /// Its number.
    pub id: i64,
    /// The task.
    #[serde(rename = "task_id")]
    pub task: TaskId,
    /// The session that recorded it; null for a person.
    #[serde(rename = "session_id")]
    pub session: Option<SessionId>,
    /// The state that it reports.
    pub state: CheckpointState,
    /// The owner of the next step.
    pub owner: Option<String>,
    /// The words.
    pub summary: String,
    /// A file that belongs to it.
    pub artifact: Option<String>,
    /// When the next one is due.
    pub due_at: Option<Timestamp>,
    /// The part of Fairway that recorded it; null for one that an agent or a person wrote.
    pub origin: Option<CheckpointOrigin>,
    /// When it was recorded.
    pub created_at: Timestamp,
}
