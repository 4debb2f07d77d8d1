//! A checkpoint as a document.

use serde::Serialize;

use super::{MessageView, values::time};
use crate::domain::checkpoint::{Checkpoint, CheckpointOrigin};

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckpointView {
    /// Its number.
    pub id: i64,
    /// The task.
    pub task_id: String,
    /// The session that recorded it; null for a person.
    pub session_id: Option<String>,
    /// The state that it reports.
    #[cfg_attr(test, schemars(with = "crate::domain::checkpoint::CheckpointState"))]
    pub state: &'static str,
    /// The owner of the next step.
    pub owner: Option<String>,
    /// The words.
    pub summary: String,
    /// A file that belongs to it.
    pub artifact: Option<String>,
    /// When the next one is due.
    pub due_at: Option<String>,
    /// The part of Fairway that recorded it; null for one that an agent or a person wrote.
    #[cfg_attr(test, schemars(with = "Option<crate::domain::checkpoint::CheckpointOrigin>"))]
    pub origin: Option<&'static str>,
    /// When it was recorded.
    pub created_at: String,
}

/// The answer of `checkpoint record`: the checkpoint, and the messages to its session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckpointResultView {
    /// The checkpoint.
    pub checkpoint: CheckpointView,
    /// The session's waiting messages.
    pub messages: Vec<MessageView>,
}

impl From<&Checkpoint> for CheckpointView {
    fn from(checkpoint: &Checkpoint) -> Self {
        Self {
            id: checkpoint.id,
            task_id: checkpoint.task.to_string(),
            session_id: checkpoint.session.as_ref().map(ToString::to_string),
            state: checkpoint.state.as_str(),
            owner: checkpoint.owner.clone(),
            summary: checkpoint.summary.clone(),
            artifact: checkpoint.artifact.clone(),
            due_at: time(checkpoint.due_at),
            origin: checkpoint.origin.map(CheckpointOrigin::as_str),
            created_at: checkpoint.created_at.to_string(),
        }
    }
}
