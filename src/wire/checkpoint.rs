//! A checkpoint as a document.

use serde::Serialize;

use super::time;
use crate::domain::checkpoint::Checkpoint;

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of `domain::checkpoint::Checkpoint`, documented there")]
pub struct CheckpointView {
    pub id: i64,
    pub task_id: String,
    pub session_id: Option<String>,
    pub state: &'static str,
    pub owner: Option<String>,
    pub summary: String,
    pub artifact: Option<String>,
    pub due_at: Option<String>,
    pub created_at: String,
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
            created_at: checkpoint.created_at.to_string(),
        }
    }
}
