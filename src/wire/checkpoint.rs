//! A checkpoint as a document.

use serde::Serialize;

use super::{MessageView, values::time};
use crate::domain::checkpoint::{Checkpoint, CheckpointOrigin};

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "documented at `domain::checkpoint::Checkpoint`")]
pub struct CheckpointView {
    pub id: i64,
    pub task_id: String,
    pub session_id: Option<String>,
    pub state: &'static str,
    pub owner: Option<String>,
    pub summary: String,
    pub artifact: Option<String>,
    pub due_at: Option<String>,
    pub origin: Option<&'static str>,
    pub created_at: String,
}

/// The answer of `checkpoint record`: the checkpoint, and the messages to its session.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
