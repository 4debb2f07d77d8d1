//! A message as its sender sees it.

use serde::Serialize;

use super::{MessageView, WaitView, values::time};
use crate::domain::{message::Message, secrets};

/// A message and its current reader. Secrets in its text are masked because the sender is not the recipient.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutboxView {
    /// The message.
    #[serde(flatten)]
    pub message: MessageView,
    /// Who was shown it last.
    pub offered_to: Option<String>,
    /// Until when they may say that they have it.
    pub offered_until: Option<String>,
    /// What makes repeats one message.
    pub dedup: Option<String>,
    /// When it is too late to read it.
    pub expires_at: Option<String>,
    /// Why it waits; null when it does not.
    pub waits: Option<WaitView>,
}

impl From<&Message> for OutboxView {
    fn from(message: &Message) -> Self {
        let view = MessageView::from(message);
        Self {
            message: MessageView { content: secrets::mask(&view.content), ..view },
            offered_to: message.offered_to.clone(),
            offered_until: time(message.offered_until.filter(|_| !message.is_typed())),
            dedup: message.dedup.clone(),
            expires_at: time(message.expires_at),
            waits: None,
        }
    }
}
