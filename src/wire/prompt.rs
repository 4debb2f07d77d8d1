//! The state of a prompt as a document.

use serde::Serialize;

use super::MessageView;
use crate::domain::{
    message::PromptWait,
    message::{Message, MessageStatus},
};

/// A prompt that was sent, or was not accepted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PromptView {
    /// Whether it was taken at all: not for a session that has ended.
    pub accepted: bool,
    /// Whether it is queued without an open offer. `POST /prompt` says no when an idle agent is connected, which gets it at once.
    pub queued: bool,
    /// Its place among what waits for that session: 1 is next. Absent when it is settled; 0 when `POST /prompt` says that it
    /// is not queued.
    pub position: Option<usize>,
    /// Its number.
    pub message_id: Option<i64>,
    /// Whether nothing was sent, because one under the same key was acknowledged.
    pub deduplicated: bool,
    /// Why it was not accepted; of an accepted one the code of why it waits, as `state_unknown`.
    pub reason: Option<String>,
    /// The command that delivers it now, with its purpose.
    pub hint: Option<String>,
    /// The message as it stands.
    pub message: Option<MessageView>,
}

impl PromptView {
    /// A prompt that was accepted.
    pub fn new(message: &Message, position: Option<usize>, deduplicated: bool) -> Self {
        Self {
            accepted: true,
            queued: message.status == MessageStatus::Queued,
            position,
            message_id: Some(message.id),
            deduplicated,
            reason: None,
            hint: None,
            message: Some(MessageView::from(message)),
        }
    }

    /// The prompt with the reason of its wait and the command that delivers it now.
    #[must_use]
    pub fn waiting(self, wait: &PromptWait) -> Self {
        Self { reason: Some(wait.reason.as_str().to_owned()), hint: wait.hint.clone(), ..self }
    }

    /// A prompt that was not accepted.
    pub const fn declined(reason: String) -> Self {
        Self {
            accepted: false,
            queued: false,
            position: None,
            message_id: None,
            deduplicated: false,
            reason: Some(reason),
            hint: None,
            message: None,
        }
    }
}
