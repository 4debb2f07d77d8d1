//! A message as a document.

use serde::Serialize;
use serde_json::Value;

use crate::domain::message::{Channel, Message, Recipient};

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    #[cfg_attr(test, schemars(with = "crate::domain::message::Priority"))]
    pub priority: &'static str,
    /// Where it came from, such as `mail`, a watcher or Fairway itself.
    pub source: String,
    /// The text.
    pub content: String,
    /// Particulars of the sender; null without any.
    pub metadata: Value,
    /// How far it came.
    #[cfg_attr(test, schemars(with = "crate::domain::message::MessageStatus"))]
    pub status: &'static str,
    /// How often it was sent under its dedup key.
    pub count: i64,
    /// The channel by which it was offered last.
    #[cfg_attr(test, schemars(with = "Option<crate::domain::message::Channel>"))]
    pub way: Option<&'static str>,
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
            priority: message.priority.as_str(),
            source: message.source.clone(),
            content: message.content.clone(),
            metadata,
            status: message.status.as_str(),
            count: message.count,
            way: message.channel.map(Channel::as_str),
            created_at: message.created_at.to_string(),
            answered_at: message.answered_at.map(|at| at.to_string()),
            stop_reason: message.stop_reason.clone(),
        }
    }
}
