//! A message as a document.

use serde::Serialize;
use serde_json::Value;

use crate::domain::message::{Channel, Message, Recipient};

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(missing_docs, reason = "documented at `domain::message::Message`")]
pub struct MessageView {
    pub id: i64,
    pub to_session: Option<String>,
    pub to_lane: Option<String>,
    pub to_role: Option<String>,
    pub to_person: Option<String>,
    pub priority: &'static str,
    pub source: String,
    pub content: String,
    pub metadata: Value,
    pub status: &'static str,
    pub count: i64,
    pub way: Option<&'static str>,
    pub created_at: String,
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
        // What is no JSON was not written by us; it is still shown, as text.
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
        }
    }
}
