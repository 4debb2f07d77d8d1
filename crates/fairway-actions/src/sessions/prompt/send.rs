//! Sending a prompt.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value};

use super::listener;
use crate::core::message_state::{event, expire};
use crate::core::{lookup, session_events};
use crate::mail::outbox;
use crate::{Answer, App};
use fairway_core::domain::id::Label;
use fairway_core::domain::message::{Message, MessageStatus, Priority, Recipient, SAYS_FROM};
use fairway_core::domain::rules::delivery;
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::session::Session;
use fairway_core::domain::{EventKind, Refusal, SessionId, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, WriteTx, messages};
use fairway_core::wire::PromptView;

/// The source of a prompt that names none.
pub(in crate::sessions) const DEFAULT_SOURCE: &str = "nudge";

#[derive(Debug, Clone)]
pub struct NewPrompt {
    /// The recipient, a registered session.
    pub to: SessionId,
    pub content: String,
    pub priority: Priority,
    /// Its source, for example `nudge` or `mail`.
    pub source: Label,
    /// Metadata: a JSON object. The sender is added as `from`; a `from` that is given becomes `says_from`. With
    /// `"now": true` the prompt does not wait until the session's state is known.
    pub metadata: Option<Value>,
    /// The deduplication key: repeats with the same key are one prompt.
    pub dedup: Option<String>,
    /// The time to live.
    pub ttl: Option<Duration>,
}

/// Queues a prompt. A prompt with a known dedup key is not queued a second time: an acknowledged one stays as it is, a queued
/// one counts the repeat, and one that was typed without an acknowledgement is queued again. To deliver the prompt at once,
/// call [`super::try_deliver`] afterwards.
///
/// # Errors
/// `not_found`, `session_final`, `invalid_value`.
pub fn send(app: &App, prompt: &NewPrompt) -> Result<Answer> {
    let prepared = PreparedPrompt::check(app, prompt)?;
    app.mutate(|tx| {
        expire(tx)?;
        prepared.queue(tx, &lookup::session(tx, &prompt.to)?)
    })
}

/// Adapts the document of a sent prompt for a caller that asks whether the agent gets it now. While a listener delivers the
/// agent's prompts, the document says that nothing is queued, unless the prompt has to wait for the agent.
pub fn as_delivered(app: &App, session: &SessionId, mut document: Value) -> Value {
    let goes_now = document["queued"] == true && document["reason"].is_null();
    if goes_now && listener::has_any(app, session) {
        document["queued"] = false.into();
        document["position"] = 0.into();
    }
    document
}

/// Queues the first prompt of a session that is about to start, and records it as such. Returns the message's id.
///
/// # Errors
/// `invalid_value`.
pub(in crate::sessions) fn queue_first(app: &App, tx: &WriteTx<'_>, id: &SessionId, text: &str) -> Result<i64> {
    let prepared = PreparedPrompt::of_text(app, text, Priority::Normal, None)?;
    let session = lookup::session(tx, id)?;
    let message = prepared.queue_message(tx, &session)?;
    session_events::apply(tx, &session, &SessionEvent::FirstPromptQueued(message.id))?;
    Ok(message.id)
}

/// Queues an answer to a question of a session as an urgent message, which is delivered even in the middle of a turn. Returns
/// the message's id.
///
/// # Errors
/// `session_final`, `invalid_value`.
pub(in crate::sessions) fn queue_answer(app: &App, tx: &WriteTx<'_>, id: &SessionId, text: &str) -> Result<i64> {
    let prepared = PreparedPrompt::of_text(app, text, Priority::Urgent, None)?;
    let session = lookup::session(tx, id)?;
    session.check_open()?;
    Ok(prepared.queue_message(tx, &session)?.id)
}

/// A checked prompt.
pub(super) struct PreparedPrompt {
    content: String,
    priority: Priority,
    source: String,
    metadata: String,
    dedup: Option<String>,
    ttl: Option<Duration>,
}

impl PreparedPrompt {
    /// Checks the texts of a prompt.
    ///
    /// # Errors
    /// `invalid_value`.
    fn check(app: &App, prompt: &NewPrompt) -> Result<Self> {
        let dedup = prompt.dedup.as_deref().map(|key| text_limits::check_line("dedup key", key)).transpose()?;
        Ok(Self {
            source: prompt.source.to_string(),
            metadata: metadata_with_sender(app, prompt.metadata.as_ref())?,
            dedup,
            ..Self::of_text(app, &prompt.content, prompt.priority, prompt.ttl)?
        })
    }

    /// Checks a text and makes a prompt of it with the default source, without a dedup key, and with the sender as its only
    /// metadata.
    ///
    /// # Errors
    /// `invalid_value` for a text that is empty or too long.
    pub fn of_text(app: &App, content: &str, priority: Priority, ttl: Option<Duration>) -> Result<Self> {
        let content = text_limits::check_body("prompt", content)?;
        if content.trim().is_empty() {
            return Err(Refusal::invalid("prompt", "must not be empty").into());
        }
        let metadata = metadata_with_sender(app, None)?;
        Ok(Self { content, priority, source: DEFAULT_SOURCE.into(), metadata, dedup: None, ttl })
    }

    /// Queues the prompt for a session. When the session already has a prompt with its dedup key, an acknowledged one stays as it
    /// is, and an open one counts the repeat or is queued again, as [`send`] describes.
    ///
    /// # Errors
    /// `session_final`.
    pub fn queue(&self, tx: &WriteTx<'_>, session: &Session) -> Result<Answer> {
        session.check_open()?;
        let expires_at = self.ttl.map(|ttl| tx.now().plus(ttl));
        if let Some(key) = &self.dedup {
            if let Some(known) = messages::find_acknowledged(tx, &session.id, key)? {
                let line = format!("unchanged: prompt {} with this dedup key is already acknowledged", known.id);
                return answer(tx, &known, true, line);
            }
            let open = messages::open_for(tx, &Recipient::Session(session.id.clone()))?;
            if let Some(known) = open.into_iter().rfind(|message| message.dedup.as_ref() == Some(key)) {
                return repeat_pending(tx, session, known, self, expires_at);
            }
        }
        let message = self.queue_message(tx, session)?;
        let line = format!("queued prompt {} to session {}", message.id, session.id);
        answer(tx, &message, false, line)
    }

    /// Queues the prompt as a new message, whatever its dedup key.
    fn queue_message(&self, tx: &WriteTx<'_>, session: &Session) -> Result<Message> {
        let message = Message {
            id: 0,
            to: Recipient::Session(session.id.clone()),
            priority: self.priority,
            source: self.source.clone(),
            content: self.content.clone(),
            metadata: Some(self.metadata.clone()),
            status: MessageStatus::Queued,
            offered_to: None,
            offered_until: None,
            channel: None,
            dedup: self.dedup.clone(),
            count: 1,
            announced_to: None,
            answered_at: None,
            stop_reason: None,
            expires_at: self.ttl.map(|ttl| tx.now().plus(ttl)),
            created_at: tx.now(),
        };
        let message = messages::insert(tx, message)?;
        tx.record(&event(EventKind::MessageQueued, &message).session(&session.id, &session.run_id))?;
        Ok(message)
    }
}

/// The API's answer for a prompt that was refused because its session has ended. `None` for any other error.
pub fn declined_view(error: &anyhow::Error) -> Option<PromptView> {
    match error.downcast_ref::<Refusal>() {
        Some(refusal @ Refusal::SessionFinal { .. }) => Some(PromptView::declined(refusal.to_string())),
        _ => None,
    }
}

/// The metadata with the actor as its sender. A sender that the caller gives becomes [`SAYS_FROM`].
fn metadata_with_sender(app: &App, given: Option<&Value>) -> Result<String> {
    let mut all = match given {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(given)) => given.clone(),
        Some(_) => return Err(Refusal::invalid("metadata", "must be a JSON object").into()),
    };
    // A caller's statement about the sender is not proven: it is kept apart and is never the actor.
    let claimed = all.insert("from".into(), app.actor.name.clone().into()).filter(|from| !from.is_null());
    if let Some(claimed) = claimed.filter(|from| *from != *app.actor.name) {
        all.insert(SAYS_FROM.into(), claimed);
    }
    Ok(text_limits::check_body("metadata", &Value::Object(all).to_string())?)
}

/// Counts a repeat of a prompt that is not acknowledged yet.
fn repeat_pending(
    tx: &WriteTx<'_>,
    session: &Session,
    known: Message,
    repeat: &PreparedPrompt,
    expires_at: Option<Timestamp>,
) -> Result<Answer> {
    let priority = repeat.priority;
    // A repeat that goes now takes the waiting one along.
    let with_repeat = Message { metadata: Some(repeat.metadata.clone()), ..known.clone() };
    let metadata = if with_repeat.goes_now() { with_repeat.metadata } else { known.metadata.clone() };
    let mut message = Message {
        metadata,
        count: known.count.saturating_add(1),
        priority: if known.priority.rank() <= priority.rank() { known.priority } else { priority },
        // The later expiry of the two counts.
        expires_at: known.expires_at.zip(expires_at).map(|(first, second)| first.max(second)),
        ..known
    };
    // Typed text without an acknowledgement may be lost, so a repeat has it typed again. An offered message is offered again
    // when its offer expires.
    if message.is_typed()
        && let Some(until) = message.offered_until
    {
        messages::withdraw_offer(tx, message.id, until)?;
        message =
            Message { status: MessageStatus::Queued, offered_to: None, offered_until: None, channel: None, ..message };
    }
    messages::update_repeat(tx, &message)?;
    tx.record(
        &event(EventKind::MessageQueued, &message).session(&session.id, &session.run_id).with("count", message.count),
    )?;
    let line = format!("prompt {} is already queued; sent {} times", message.id, message.count);
    answer(tx, &message, false, line)
}

fn answer(tx: &WriteTx<'_>, message: &Message, deduplicated: bool, line: String) -> Result<Answer> {
    let view = view(tx, message, deduplicated, tx.now())?;
    Answer::new(&view, message.id, line)
}

/// Describes a prompt with its position in the queue and, while it waits, the reason.
pub(super) fn view(tx: &ReadTx<'_>, message: &Message, deduplicated: bool, now: Timestamp) -> Result<PromptView> {
    let is_queued = matches!(message.status, MessageStatus::Queued | MessageStatus::Offered);
    let position = if is_queued {
        Some(delivery::queue_position(&messages::open_for(tx, &message.to)?, message.priority, message.id))
    } else {
        None
    };
    let view = PromptView::new(message, position, deduplicated);
    Ok(match outbox::find(tx, message, now)? {
        Some(wait) => view.waiting(&wait),
        None => view,
    })
}
