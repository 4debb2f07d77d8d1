//! A checkpoint as a document.

use serde::Serialize;

use super::MessageView;
use crate::domain::checkpoint::Checkpoint;

/// The answer of `checkpoint record`: the checkpoint, and the messages to its session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CheckpointResultView {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The session's waiting messages.
    pub messages: Vec<MessageView>,
}
