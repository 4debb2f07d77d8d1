//! Sending a prompt.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value};

use crate::{
    actions::{
        Answer, App,
        core::lookup,
        mail::{inbox::expire, send::event},
    },
    domain::{
        EventKind, Refusal, SessionId,
        id::Label,
        message::{Message, MessageStatus, Priority, Recipient},
        rules::delivery,
        session::Session,
        text_limits,
    },
    store::{ReadTx, WriteTx, messages},
    wire::PromptView,
};

/// What is to be said to a session.
#[derive(Debug, Clone)]
pub struct NewPrompt {
    /// To which session; Fairway must know it.
    pub to: SessionId,
    /// The text.
    pub content: String,
    /// How much it may interrupt.
    pub priority: Priority,
    /// Where it comes from: nudge, mail, sling, prime.
    pub source: Label,
    /// Particulars: a JSON object. Who sends it is added, and stands there whatever is given.
    pub metadata: Option<Value>,
    /// What makes repeats one prompt.
    pub dedup: Option<String>,
    /// After how long it is too late.
    pub ttl: Option<Duration>,
}

/// Queues a prompt. One that was acknowledged under its dedup key is not sent again; one that waits under it is counted, and
/// one that was typed without an answer waits again. To have it delivered at once, call [`super::deliver_by_typing`] afterwards.
///
/// # Errors
/// `not_found`, `session_final`, `invalid_value`.
pub fn send(app: &App, prompt: &NewPrompt) -> Result<Answer> {
    let content = text_limits::check_body("prompt", &prompt.content)?;
    if content.trim().is_empty() {
        return Err(Refusal::invalid("prompt", "must not be empty").into());
    }
    let dedup = prompt.dedup.as_deref().map(|key| text_limits::check_line("dedup key", key)).transpose()?;
    let metadata = metadata_with_sender(app, prompt.metadata.as_ref())?;
    app.mutate(|tx| {
        expire(tx)?;
        let session = lookup::session(tx, &prompt.to)?;
        session.check_open()?;
        let expires_at = prompt.ttl.map(|ttl| tx.now().plus(ttl));
        if let Some(key) = &dedup {
            if let Some(known) = messages::find_acknowledged(tx, &session.id, key)? {
                let line = format!("unchanged: prompt {} with this dedup key is already acknowledged", known.id);
                return answer(tx, &known, true, line);
            }
            let unsettled = messages::open_for(tx, &Recipient::Session(session.id.clone()))?;
            if let Some(known) = unsettled.into_iter().rfind(|message| message.dedup.as_ref() == Some(key)) {
                return repeat_pending(tx, &session, known, prompt.priority, expires_at);
            }
        }
        let message = Message {
            id: 0,
            to: Recipient::Session(session.id.clone()),
            priority: prompt.priority,
            source: prompt.source.to_string(),
            content: content.clone(),
            metadata: Some(metadata.clone()),
            status: MessageStatus::Queued,
            offered_to: None,
            offered_until: None,
            channel: None,
            dedup: dedup.clone(),
            count: 1,
            announced_to: None,
            expires_at,
            created_at: tx.now(),
        };
        let message = messages::insert(tx, message)?;
        tx.record(&event(EventKind::MessageQueued, &message).session(&session.id, &session.run_id))?;
        let line = format!("queued prompt {} to session {}", message.id, session.id);
        answer(tx, &message, false, line)
    })
}

/// What a refusal to take a prompt is to one who asked by the API: that it was not accepted, and why. `None` for what is no
/// such refusal.
#[must_use]
pub fn declined_view(error: &anyhow::Error) -> Option<PromptView> {
    match error.downcast_ref::<Refusal>() {
        Some(refusal @ Refusal::SessionFinal { .. }) => Some(PromptView::declined(refusal.to_string())),
        _ => None,
    }
}

/// The particulars with who sends it: nobody names that for themselves.
fn metadata_with_sender(app: &App, given: Option<&Value>) -> Result<String> {
    let mut all = match given {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(given)) => given.clone(),
        Some(_) => return Err(Refusal::invalid("metadata", "must be a JSON object").into()),
    };
    all.insert("from".into(), app.actor.name.clone().into());
    Ok(text_limits::check_body("metadata", &Value::Object(all).to_string())?)
}

/// A prompt under a key that has one already, which nobody has acknowledged.
fn repeat_pending(
    tx: &WriteTx<'_>,
    session: &Session,
    known: Message,
    priority: Priority,
    expires_at: Option<crate::env::Timestamp>,
) -> Result<Answer> {
    let mut message = Message {
        count: known.count.saturating_add(1),
        priority: if known.priority.rank() <= priority.rank() { known.priority } else { priority },
        // It is worth delivering for as long as the later of the two.
        expires_at: known.expires_at.zip(expires_at).map(|(first, second)| first.max(second)),
        ..known
    };
    // What was typed and not answered may be lost: whoever says it again wants it typed again. What is held under a lease
    // comes again by itself when that is over.
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

fn answer(tx: &ReadTx<'_>, message: &Message, deduplicated: bool, line: String) -> Result<Answer> {
    let view = view(tx, message, deduplicated)?;
    Answer::new(&view, message.id, line)
}

/// A prompt as it stands, with its place in the queue.
///
/// # Errors
/// As the store fails.
pub(super) fn view(tx: &ReadTx<'_>, message: &Message, deduplicated: bool) -> Result<PromptView> {
    let waits = matches!(message.status, MessageStatus::Queued | MessageStatus::Offered);
    let position = if waits {
        Some(delivery::queue_position(&messages::open_for(tx, &message.to)?, message.priority, message.id))
    } else {
        None
    };
    Ok(PromptView::new(message, position, deduplicated))
}
