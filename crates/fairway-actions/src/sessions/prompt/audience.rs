//! Sending one text to every recipient of an audience: a session, a lane, a role, a person, or all sessions.

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::send::{DEFAULT_SOURCE, NewPrompt, send};
use crate::core::lookup;
use crate::core::message_state::noun_and_name;
use crate::{Answer, App, mail};
use fairway_core::domain::id::Label;
use fairway_core::domain::message::{GOES_NOW, Priority, Recipient};
use fairway_core::domain::session::Session;
use fairway_core::domain::{LaneName, PersonName, Refusal, Role, SessionId};
use fairway_core::store::{ReadTx, lanes, messages, sessions};
use fairway_core::wire::PromptView;

/// The audience of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    Session(SessionId),
    /// The live sessions of a lane.
    Lane(LaneName),
    /// The live sessions of a role.
    Role(Role),
    /// A name without a prefix: a session, unless a lane or role has the same name.
    Name(SessionId),
    Person(PersonName),
    /// All live sessions.
    All,
}

impl Audience {
    /// Reads `session:ID`, `lane:NAME`, `role:NAME`, `person:NAME`, or a text without a prefix as [`Self::Name`].
    ///
    /// # Errors
    /// `invalid_value`.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        Ok(match text.split_once(':') {
            Some(("session", id)) => Self::Session(SessionId::parse(id)?),
            Some(("lane", name)) => Self::Lane(LaneName::parse(name)?),
            Some(("role", name)) => Self::Role(Role::parse(name)?),
            Some(("person", name)) => Self::Person(PersonName::parse(name)?),
            _ => Self::Name(SessionId::parse(text)?),
        })
    }
}

/// One recipient of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextRecipient {
    Session(SessionId),
    /// A person, or the next session of a lane or role, who reads an inbox.
    Inbox(Recipient),
}

impl TextRecipient {
    pub const fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Session(session) => Some(session),
            Self::Inbox(_) => None,
        }
    }
}

impl fmt::Display for TextRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(session) => f.pad(session.as_str()),
            Self::Inbox(to) => {
                let (noun, name) = noun_and_name(to);
                f.pad(&format!("{noun}:{name}"))
            }
        }
    }
}

/// Resolves an audience to its recipients. For a lane, a role or all sessions these are the live sessions, without the acting
/// one. With `later`, a lane or role without a live session is one recipient: its next session.
///
/// # Errors
/// `not_found`, also when there is no such live session; `ambiguous` for the name of a session that a lane or role has, too.
pub fn recipients_of(app: &App, audience: &Audience, later: bool) -> Result<Vec<TextRecipient>> {
    let inbox = match audience {
        Audience::Person(person) => return Ok(vec![TextRecipient::Inbox(Recipient::Person(person.clone()))]),
        Audience::Lane(lane) => Some(Recipient::Lane(lane.clone())),
        Audience::Role(role) => Some(Recipient::Role(role.clone())),
        _ => None,
    };
    let found = match app.read(|tx| recipients(tx, audience, app.actor.session.as_ref())) {
        Err(error) if later && matches!(error.downcast_ref(), Some(Refusal::NoLiveSession { .. })) => {
            return inbox.map(|to| vec![TextRecipient::Inbox(to)]).ok_or(error);
        }
        found => found?,
    };
    Ok(found.into_iter().map(|session| TextRecipient::Session(session.id)).collect())
}

/// A text for several recipients.
#[derive(Debug, Clone)]
pub struct NewText {
    pub content: String,
    pub priority: Priority,
    /// The time to live.
    pub ttl: Option<Duration>,
    /// Whether a prompt is delivered although the session's state is unknown.
    pub now: bool,
}

/// Sends a text to one recipient: to a session as a prompt, to an inbox as a message. To deliver a prompt at once, call
/// [`super::try_deliver`] afterwards. The answer's document has the same form for both.
///
/// # Errors
/// `session_final`, `invalid_value`.
pub fn send_text(app: &App, to: &TextRecipient, text: &NewText) -> Result<Answer> {
    let (priority, ttl) = (text.priority, text.ttl);
    match to {
        TextRecipient::Session(session) => {
            let metadata = text.now.then(|| json!({ GOES_NOW: true }));
            let source = Label::parse(DEFAULT_SOURCE)?;
            let content = text.content.clone();
            let prompt = NewPrompt { to: session.clone(), content, priority, source, metadata, dedup: None, ttl };
            send(app, &prompt)
        }
        TextRecipient::Inbox(to) => {
            let source = Label::parse(mail::send::DEFAULT_SOURCE)?;
            let (to, content) = (to.clone(), text.content.clone());
            let message = mail::send::NewMessage { to, priority, source, content, dedup: None, ttl };
            let sent = mail::send::send(app, &message)?;
            let id = sent.ids.first().and_then(|id| id.parse().ok()).unwrap_or_default();
            let message = app.read(|tx| Ok(messages::find(tx, id)?))?;
            let message = message.ok_or_else(|| Refusal::not_found("message", id.to_string()))?;
            Ok(Answer { notes: sent.notes, ..Answer::new(&PromptView::new(&message, None, false), id, sent.line)? })
        }
    }
}

fn recipients(tx: &ReadTx<'_>, audience: &Audience, sender: Option<&SessionId>) -> Result<Vec<Session>> {
    let live = |matches: &dyn Fn(&Session) -> bool, of: String, later: Option<String>| -> Result<Vec<Session>> {
        let mut found = sessions::live(tx)?;
        found.retain(|session| matches(session) && Some(&session.id) != sender);
        if found.is_empty() { Err(Refusal::NoLiveSession { of, later }.into()) } else { Ok(found) }
    };
    match audience {
        Audience::Session(id) => Ok(vec![lookup::session(tx, id)?]),
        Audience::Lane(name) => {
            lookup::lane(tx, name)?;
            let later = Some(format!("lane:{name}"));
            live(&|session| session.lane.as_ref() == Some(name), format!("the lane {name}"), later)
        }
        Audience::Role(role) => {
            live(&|session| session.role == *role, format!("the role {role}"), Some(format!("role:{role}")))
        }
        Audience::All => live(&|_| true, "the project".into(), None),
        Audience::Name(id) => Ok(vec![named(tx, id)?]),
        Audience::Person(_) => Ok(Vec::new()),
    }
}

/// The session with this name, provided that no lane or role has the name, too.
fn named(tx: &ReadTx<'_>, id: &SessionId) -> Result<Session> {
    let mut others = Vec::new();
    if let Ok(lane) = LaneName::parse(id.as_str())
        && lanes::find(tx, &lane)?.is_some()
    {
        others.push(format!("lane:{id}"));
    }
    if sessions::live(tx)?.iter().any(|session| session.role.as_str() == id.as_str()) {
        others.push(format!("role:{id}"));
    }
    match sessions::find(tx, id)? {
        Some(session) if others.is_empty() => Ok(session),
        Some(_) => {
            let found = std::iter::once(format!("session:{id}")).chain(others).collect();
            Err(Refusal::Ambiguous { noun: "recipient", id: id.to_string(), found }.into())
        }
        None if others.is_empty() => lookup::session(tx, id),
        None => Err(Refusal::NotFound { noun: "session", id: id.to_string(), near: others }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_name_the_kind_of_the_audience() {
        let of = |text: &str| Audience::parse(text);
        assert_eq!(of("session:a"), Ok(Audience::Session(SessionId::parse("a").unwrap())));
        assert_eq!(of("lane:a"), Ok(Audience::Lane(LaneName::parse("a").unwrap())));
        assert_eq!(of("role:a"), Ok(Audience::Role(Role::parse("a").unwrap())));
        assert_eq!(of("person:a.b"), Ok(Audience::Person(PersonName::parse("a.b").unwrap())));
        assert_eq!(of("a"), Ok(Audience::Name(SessionId::parse("a").unwrap())));
        for wrong in ["", "lane:", "room:a", "lane:a:b", "a b", "person:a@b"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
