//! Sending a message.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::core::lookup;
use crate::core::message_state::{event, expire, noun_and_name};
use crate::{Answer, App};
use fairway_core::domain::id::Label;
use fairway_core::domain::message::{Message, MessageStatus, Priority, Recipient};
use fairway_core::domain::session::Session;
use fairway_core::domain::{Event, EventKind, LaneName, Refusal, SessionId, text_limits};
use fairway_core::store::{ReadTx, WriteTx, messages, sessions};
use fairway_core::wire::MessageView;

/// The source of a message that names none.
pub const DEFAULT_SOURCE: &str = "mail";

#[derive(Debug, Clone)]
pub struct NewMessage {
    pub to: Recipient,
    /// How much the message may interrupt.
    pub priority: Priority,
    pub source: Label,
    pub content: String,
    /// The deduplication key. A repeat with the key of a waiting message is counted and not sent.
    pub dedup: Option<String>,
    pub ttl: Option<Duration>,
}

/// Queues a message, or counts it as a repeat of a waiting one with the same deduplication key.
///
/// # Errors
/// `session_final`; `not_found` for an unknown lane; `invalid_value`.
pub fn send(app: &App, new: &NewMessage) -> Result<Answer> {
    let content = text_limits::check_body("message", &new.content)?;
    if content.trim().is_empty() {
        return Err(Refusal::invalid("message", "must not be empty").into());
    }
    let dedup = new.dedup.as_deref().map(|key| text_limits::check_line("dedup key", key)).transpose()?;
    app.mutate(|tx| {
        expire(tx)?;
        check_recipient(tx, &new.to)?;
        let expires_at = new.ttl.map(|ttl| tx.now().plus(ttl));
        if let Some(waiting) = find_duplicate(tx, &new.to, dedup.as_deref())? {
            return count_repeat(tx, waiting, new, expires_at);
        }
        let metadata = json!({ "from": app.actor.name });
        let message = new_message(tx, &new.to, (new.source.as_str(), new.priority), content.clone(), &metadata);
        let message = messages::insert(tx, Message { dedup: dedup.clone(), expires_at, ..message })?;
        tx.record(&queued_event(tx, &message)?)?;
        let (noun, name) = noun_and_name(&message.to);
        Answer::new(&MessageView::from(&message), message.id, format!("queued message {} to {noun} {name}", message.id))
    })
}

/// How long a person has to read a program's message.
const PERSON_TTL: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Queues a message from a program or from Fairway itself. `by` is its source and priority; `key` is its deduplication key, which
/// must not be in use. Returns `false` if the recipient's session has ended.
pub(crate) fn send_system(
    tx: &WriteTx<'_>,
    to: &Recipient,
    by: (&str, Priority),
    content: String,
    metadata: &Value,
    key: &str,
) -> Result<bool> {
    if recipient_session(tx, to)?.is_some_and(|session| session.status.is_final()) {
        return Ok(false);
    }
    let expires_at = matches!(to, Recipient::Person(_)).then(|| tx.now().plus(PERSON_TTL));
    let message = new_message(tx, to, by, content, metadata);
    let message = messages::insert(tx, Message { dedup: Some(key.to_owned()), expires_at, ..message })?;
    tx.record(&queued_event(tx, &message)?)?;
    Ok(true)
}

/// Queues a message of Fairway for a session, like [`send_system`].
pub(crate) fn tell(tx: &WriteTx<'_>, session: &SessionId, source: &str, text: String, key: &str) -> Result<bool> {
    let to = Recipient::Session(session.clone());
    send_system(tx, &to, (source, Priority::System), text, &json!({ "from": "fairway" }), key)
}

/// Queues a message like [`send_system`] for each of these sessions that has not ended, once, or, when there are none, for each
/// live session of the lane, or, when there are none either, for the next one that reads the lane's messages.
pub(crate) fn send_to_workers<'a>(
    tx: &WriteTx<'_>,
    sessions: impl IntoIterator<Item = &'a SessionId>,
    lane: Option<&LaneName>,
    by: (&str, Priority),
    content: &str,
    metadata: &Value,
    key: &str,
) -> Result<()> {
    let tell = |to: &Recipient| send_system(tx, to, by, content.to_owned(), metadata, key);
    let claiming: BTreeSet<&SessionId> = sessions.into_iter().collect();
    let mut is_told = false;
    for session in claiming {
        is_told |= tell(&Recipient::Session(session.clone()))?;
    }
    let Some(lane) = lane.filter(|_| !is_told) else { return Ok(()) };
    for session in sessions::live(tx)?.into_iter().filter(|one| one.lane.as_ref() == Some(lane)) {
        is_told |= tell(&Recipient::Session(session.id))?;
    }
    if !is_told {
        tell(&Recipient::Lane(lane.clone()))?;
    }
    Ok(())
}

fn new_message(
    tx: &WriteTx<'_>,
    to: &Recipient,
    (source, priority): (&str, Priority),
    content: String,
    metadata: &Value,
) -> Message {
    Message {
        id: 0,
        to: to.clone(),
        priority,
        source: source.to_owned(),
        content,
        metadata: Some(metadata.to_string()),
        status: MessageStatus::Queued,
        offered_to: None,
        offered_until: None,
        channel: None,
        dedup: None,
        count: 1,
        announced_to: None,
        answered_at: None,
        stop_reason: None,
        expires_at: None,
        created_at: tx.now(),
    }
}

/// The registered session that the message names.
fn recipient_session(tx: &ReadTx<'_>, to: &Recipient) -> Result<Option<Session>> {
    match to {
        Recipient::Session(id) => Ok(sessions::find(tx, id)?),
        Recipient::Key(_) | Recipient::Lane(_) | Recipient::Role(_) | Recipient::Person(_) => Ok(None),
    }
}

/// The event of a queued message, with the recipient's session run if it is known.
fn queued_event(tx: &ReadTx<'_>, message: &Message) -> Result<Event> {
    let queued = event(EventKind::MessageQueued, message);
    Ok(match recipient_session(tx, &message.to)? {
        Some(session) => queued.session(&session.id, &session.run_id),
        None => queued,
    })
}

fn check_recipient(tx: &ReadTx<'_>, to: &Recipient) -> Result<()> {
    match to {
        Recipient::Lane(lane) => {
            lookup::lane(tx, lane)?;
        }
        // An unregistered session may get messages; an ended one never reads them.
        Recipient::Session(_) => {
            if let Some(session) = recipient_session(tx, to)?.filter(|session| session.status.is_final()) {
                return Err(Refusal::SessionFinal { session: session.id, status: session.status }.into());
            }
        }
        Recipient::Key(_) | Recipient::Role(_) | Recipient::Person(_) => {}
    }
    Ok(())
}

/// A message with this key that waits: it was never offered, or its offer has expired.
fn find_duplicate(tx: &WriteTx<'_>, to: &Recipient, dedup: Option<&str>) -> Result<Option<Message>> {
    let Some(dedup) = dedup else { return Ok(None) };
    let is_waiting = |message: &Message| {
        message.dedup.as_deref() == Some(dedup) && message.offered_until.is_none_or(|until| until <= tx.now())
    };
    Ok(messages::open_for(tx, to)?.into_iter().find(is_waiting))
}

fn count_repeat(
    tx: &WriteTx<'_>,
    waiting: Message,
    new: &NewMessage,
    expires_at: Option<fairway_core::env::Timestamp>,
) -> Result<Answer> {
    let urgent = |message: &Message| message.priority.rank() <= new.priority.rank();
    let message = Message {
        count: waiting.count.saturating_add(1),
        priority: if urgent(&waiting) { waiting.priority } else { new.priority },
        // The later expiry of the two counts.
        expires_at: waiting.expires_at.zip(expires_at).map(|(first, second)| first.max(second)),
        ..waiting
    };
    messages::update_repeat(tx, &message)?;
    tx.record(&queued_event(tx, &message)?.with("count", message.count))?;
    let line = format!("message {} waits already; counted {} times", message.id, message.count);
    Answer::new(&MessageView::from(&message), message.id, line)
}
