//! Messages and prompts as documents.

use serde::Serialize;
use serde_json::Value;

use super::values::time;
use crate::domain::message::{Channel, Message, MessageStatus, Priority, PromptWait, Recipient, WaitReason};
use crate::domain::secrets;

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MessageView {
    /// Its number.
    pub id: i64,
    /// The session that it is for.
    pub to_session: Option<String>,
    /// The lane that it is for.
    pub to_lane: Option<String>,
    /// The role that it is for.
    pub to_role: Option<String>,
    /// The person that it is for.
    pub to_person: Option<String>,
    /// How much it may interrupt.
    pub priority: Priority,
    /// Where it came from, such as `mail`, a watcher or Fairway itself.
    pub source: String,
    /// The text.
    pub content: String,
    /// Particulars of the sender; null without any.
    pub metadata: Value,
    /// How far it came.
    pub status: MessageStatus,
    /// How often it was sent under its dedup key.
    pub count: i64,
    /// The channel by which it was offered last.
    pub way: Option<Channel>,
    /// When it was sent.
    pub created_at: String,
    /// When the turn that has taken it ended; null until then, and for an agent that does not report its turns' ends.
    pub answered_at: Option<String>,
    /// Why that turn ended: `end_turn`, `cancelled`, `failed` or another word of the agent.
    pub stop_reason: Option<String>,
}

impl From<&Message> for MessageView {
    fn from(message: &Message) -> Self {
        let (to_session, to_lane, to_role, to_person) = match &message.to {
            Recipient::Session(session) => (Some(session.to_string()), None, None, None),
            Recipient::Key(key) => (Some(key.to_string()), None, None, None),
            Recipient::Lane(lane) => (None, Some(lane.to_string()), None, None),
            Recipient::Role(role) => (None, None, Some(role.to_string()), None),
            Recipient::Person(person) => (None, None, None, Some(person.to_string())),
        };
        // Metadata that is no JSON was not written by Fairway; it is shown as text.
        let metadata = message
            .metadata
            .as_deref()
            .map_or(Value::Null, |text| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())));
        Self {
            id: message.id,
            to_session,
            to_lane,
            to_role,
            to_person,
            priority: message.priority,
            source: message.source.clone(),
            content: message.content.clone(),
            metadata,
            status: message.status,
            count: message.count,
            way: message.channel,
            created_at: message.created_at.to_string(),
            answered_at: message.answered_at.map(|at| at.to_string()),
            stop_reason: message.stop_reason.clone(),
        }
    }
}

/// A message and its current reader. Secrets in its text are masked because the sender is not the recipient.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    pub reason: Option<WaitReason>,
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
    /// Adds the reason why the message waits, and the command that delivers it now.
    #[must_use]
    pub fn waiting(self, wait: &PromptWait) -> Self {
        Self { reason: Some(wait.reason), hint: wait.hint.clone(), ..self }
    }
}

/// A prompt that was sent, or was not accepted.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    /// The answer for a prompt that was accepted. `position` is its place in the queue; `deduplicated` tells that nothing was
    /// sent, because a prompt under the same key had been acknowledged.
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

    /// Adds the reason why the prompt waits, and the command that delivers it now.
    #[must_use]
    pub fn waiting(self, wait: &PromptWait) -> Self {
        Self { reason: Some(wait.reason.as_str().to_owned()), hint: wait.hint.clone(), ..self }
    }

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
