//! A message as its sender sees it.

use serde::Serialize;

use super::{MessageView, values::time};
use crate::domain::{message::Message, message::PromptWait, secrets};

/// A message and its current reader. Secrets in its text are masked because the sender is not the recipient.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OutboxView {
    /// The message.
    #[serde(flatten)]
    pub message: MessageView,
    /// The reader to whom it was shown last.
    pub offered_to: Option<String>,
    /// Until when they may say that they have it.
    pub offered_until: Option<String>,
    /// The key that makes repeats one message.
    pub dedup: Option<String>,
    /// When it is too late to read it.
    pub expires_at: Option<String>,
    /// The code of why it waits, as `state_unknown`.
    #[cfg_attr(test, schemars(with = "Option<crate::domain::message::WaitReason>"))]
    pub reason: Option<&'static str>,
    /// The command that delivers it now, with its purpose.
    pub hint: Option<String>,
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
            reason: None,
            hint: None,
        }
    }
}

impl OutboxView {
    /// The message with the reason of its wait and the command that delivers it now.
    #[must_use]
    pub fn waiting(self, wait: &PromptWait) -> Self {
        Self { reason: Some(wait.reason.as_str()), hint: wait.hint.clone(), ..self }
    }
}
