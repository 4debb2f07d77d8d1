//! What became of a prompt, as a document.

use serde::Serialize;

use super::{MessageView, WaitView};
use crate::domain::message::{Message, MessageStatus};

/// A prompt that was sent, or was not accepted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PromptView {
    /// Whether it was taken at all: not for a session that has ended.
    pub accepted: bool,
    /// Whether it is queued without an open offer.
    pub queued: bool,
    /// Its place among what waits for that session: 1 is next. Absent when it is settled.
    pub position: Option<usize>,
    /// Its number.
    pub message_id: Option<i64>,
    /// Whether nothing was sent, because one under the same key was acknowledged.
    pub deduplicated: bool,
    /// Why it was not accepted.
    pub reason: Option<String>,
    /// The message as it stands.
    pub message: Option<MessageView>,
    /// Why it waits; null when it does not.
    pub waits: Option<WaitView>,
}

impl PromptView {
    /// A prompt that was accepted.
    #[must_use]
    pub fn new(message: &Message, position: Option<usize>, deduplicated: bool) -> Self {
        Self {
            accepted: true,
            queued: message.status == MessageStatus::Queued,
            position,
            message_id: Some(message.id),
            deduplicated,
            reason: None,
            message: Some(MessageView::from(message)),
            waits: None,
        }
    }

    /// One that was not.
    #[must_use]
    pub const fn declined(reason: String) -> Self {
        Self {
            accepted: false,
            queued: false,
            position: None,
            message_id: None,
            deduplicated: false,
            reason: Some(reason),
            message: None,
            waits: None,
        }
    }
}
