//! Sending a message.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    actions::{
        Answer, App,
        core::{
            lookup,
            message_state::{event, expire, noun_and_name},
        },
    },
    domain::{
        EventKind, Refusal, SessionId,
        id::Label,
        message::{Message, MessageStatus, Priority, Recipient},
        text_limits,
    },
    store::{ReadTx, WriteTx, messages, sessions},
    wire::MessageView,
};

/// What is to be sent.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// To whom.
    pub to: Recipient,
    /// How much it may interrupt.
    pub priority: Priority,
    /// Where it comes from.
    pub source: Label,
    /// The text.
    pub content: String,
    /// What makes repeats one message.
    pub dedup: Option<String>,
    /// After how long it is too late.
    pub ttl: Option<Duration>,
}

/// Queues a message, or counts it as a repeat of one that waits under the same dedup key.
///
/// # Errors
/// `not_found`, `session_final`, `invalid_value`.
pub fn send(app: &App, letter: &NewMessage) -> Result<Answer> {
    let content = text_limits::check_body("message", &letter.content)?;
    if content.trim().is_empty() {
        return Err(Refusal::invalid("message", "must not be empty").into());
    }
    let dedup = letter.dedup.as_deref().map(|key| text_limits::check_line("dedup key", key)).transpose()?;
    app.mutate(|tx| {
        expire(tx)?;
        check_recipient(tx, &letter.to)?;
        let expires_at = letter.ttl.map(|ttl| tx.now().plus(ttl));
        if let Some(waiting) = find_duplicate(tx, &letter.to, dedup.as_deref())? {
            return count_repeat(tx, waiting, letter, expires_at);
        }
        let message = messages::insert(
            tx,
            Message {
                id: 0,
                to: letter.to.clone(),
                priority: letter.priority,
                source: letter.source.to_string(),
                content: content.clone(),
                metadata: Some(json!({ "from": app.actor.name }).to_string()),
                status: MessageStatus::Queued,
                offered_to: None,
                offered_until: None,
                channel: None,
                dedup: dedup.clone(),
                count: 1,
                announced_to: None,
                expires_at,
                created_at: tx.now(),
            },
        )?;
        tx.record(&event(EventKind::MessageQueued, &message))?;
        let (noun, name) = noun_and_name(&message.to);
        Answer::new(&MessageView::from(&message), message.id, format!("queued message {} to {noun} {name}", message.id))
    })
}

/// Queues what a program, or Fairway itself, has to say to a session, under a key that no message has had. `false` when the
/// session has ended: it will never read it.
///
/// # Errors
/// As the store fails.
pub(in crate::actions) fn send_system(
    tx: &WriteTx<'_>,
    session: &SessionId,
    (source, priority): (&str, Priority),
    content: String,
    metadata: &Value,
    key: &str,
) -> Result<bool> {
    if sessions::find(tx, session)?.is_some_and(|session| session.status.is_final()) {
        return Ok(false);
    }
    let message = Message {
        id: 0,
        to: Recipient::Session(session.clone()),
        priority,
        source: source.to_owned(),
        content,
        metadata: Some(metadata.to_string()),
        status: MessageStatus::Queued,
        offered_to: None,
        offered_until: None,
        channel: None,
        dedup: Some(key.to_owned()),
        count: 1,
        announced_to: None,
        expires_at: None,
        created_at: tx.now(),
    };
    tx.record(&event(EventKind::MessageQueued, &messages::insert(tx, message)?))?;
    Ok(true)
}

fn check_recipient(tx: &ReadTx<'_>, to: &Recipient) -> Result<()> {
    match to {
        Recipient::Lane(lane) => {
            lookup::lane(tx, lane)?;
        }
        // A session may be told something before it is known; one that has ended will never read it.
        Recipient::Session(id) => {
            if let Some(session) = sessions::find(tx, id)?.filter(|session| session.status.is_final()) {
                return Err(Refusal::SessionFinal { session: session.id, status: session.status }.into());
            }
        }
        Recipient::Role(_) => {}
    }
    Ok(())
}

/// A message under this key that nobody has been shown, or that will be shown again.
fn find_duplicate(tx: &WriteTx<'_>, to: &Recipient, dedup: Option<&str>) -> Result<Option<Message>> {
    let Some(dedup) = dedup else { return Ok(None) };
    let waits = |message: &Message| {
        message.dedup.as_deref() == Some(dedup) && message.offered_until.is_none_or(|until| until <= tx.now())
    };
    Ok(messages::open_for(tx, to)?.into_iter().find(waits))
}

fn count_repeat(
    tx: &WriteTx<'_>,
    waiting: Message,
    letter: &NewMessage,
    expires_at: Option<crate::env::Timestamp>,
) -> Result<Answer> {
    let urgent = |message: &Message| message.priority.rank() <= letter.priority.rank();
    let message = Message {
        count: waiting.count.saturating_add(1),
        priority: if urgent(&waiting) { waiting.priority } else { letter.priority },
        // It is worth reading for as long as the later of the two.
        expires_at: waiting.expires_at.zip(expires_at).map(|(first, second)| first.max(second)),
        ..waiting
    };
    messages::update_repeat(tx, &message)?;
    tx.record(&event(EventKind::MessageQueued, &message).with("count", message.count))?;
    let line = format!("message {} waits already; counted {} times", message.id, message.count);
    Answer::new(&MessageView::from(&message), message.id, line)
}
