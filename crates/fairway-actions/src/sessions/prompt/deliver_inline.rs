//! Delivery of queued messages within other output: the caller shows the batch to the session and then confirms it.

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;

use crate::core::message_state::{acknowledge, expire, offer};
use crate::{App, mail};
use fairway_core::domain::SessionId;
use fairway_core::domain::message::{Channel, Message, MessageStatus, OFFER_TIMEOUT_SECS, Recipient};
use fairway_core::domain::rules::delivery::{self, MAX_READ};
use fairway_core::domain::session::Session;
use fairway_core::env::Timestamp;
use fairway_core::render;
use fairway_core::store::{ReadTx, messages, sessions};
use fairway_core::wire::MessageView;

/// A batch of messages to show to a session. Its offer lasts 60 s; a batch that is shown later may be shown twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryBatch {
    pub text: String,
    pub ids: Vec<i64>,
    /// The ids of messages that are too long, and only announced.
    pub announced: Vec<i64>,
}

/// Takes the messages that may be shown to a session now over this channel, in at most `limit` bytes of text. They are offered
/// to the session, so that concurrent callers get different messages. `None` when there are none.
pub fn take_deliverable(app: &App, session: &Session, channel: Channel, limit: usize) -> Result<Option<DeliveryBatch>> {
    let waits = |tx: &ReadTx<'_>, now: Timestamp| -> Result<BatchBuilder> {
        // The activity of now, not of the time when the session was read.
        let takes = |one: &Session| !one.status.is_final() && (channel.is_own() || !one.is_parked(now));
        let Some(now_as) = sessions::find(tx, &session.id)?.filter(takes) else {
            return Ok(BatchBuilder::default());
        };
        let mut open = for_session(tx, &now_as)?;
        if channel == Channel::Wake {
            without_first_prompt(&mut open, &now_as, now);
        }
        let free = delivery::deliverable(open, channel, now_as.activity, now);
        Ok(BatchBuilder::pack(free, &session.id, limit))
    };
    // Most often there is nothing, and no write transaction is needed.
    if app.read(|tx| waits(tx, app.env.now()))?.is_empty() {
        return Ok(None);
    }
    let builder = app.transaction(|tx| {
        expire(tx)?;
        let builder = waits(tx, tx.now())?;
        offer(tx, session, &builder.messages, channel, tx.now().plus(Duration::from_secs(OFFER_TIMEOUT_SECS)))?;
        Ok(builder)
    })?;
    Ok((!builder.is_empty()).then(|| builder.into_batch()))
}

/// Removes the session's first prompt from `open` while it is left to the hook of the first turn.
pub(super) fn without_first_prompt(open: &mut Vec<Message>, session: &Session, now: Timestamp) {
    if let Some(first) = session.first_prompt
        && delivery::is_left_to_first_turn(session.activity, session.activity_at, now)
    {
        open.retain(|message| message.id != first);
    }
}

/// Confirms that the session was shown the whole batch. Messages that are still offered to it are acknowledged; withdrawn
/// messages stay withdrawn.
pub fn confirm_delivered(app: &App, session: &Session, batch: &DeliveryBatch) -> Result<()> {
    app.transaction(|tx| {
        for id in &batch.ids {
            if let Some(message) = messages::find(tx, *id)?
                && message.status == MessageStatus::Offered
                && message.offered_to.as_deref() == Some(session.id.as_str())
            {
                acknowledge(tx, &message, session)?;
            }
        }
        for id in &batch.announced {
            messages::mark_announced(tx, *id, &session.id)?;
        }
        Ok(())
    })
}

/// The open messages to a session, to its lane and to its role.
pub(super) fn for_session(tx: &ReadTx<'_>, session: &Session) -> Result<Vec<Message>> {
    let mut all = messages::open_for(tx, &Recipient::Session(session.id.clone()))?;
    if let Some(lane) = &session.lane {
        all.extend(messages::open_for(tx, &Recipient::Lane(lane.clone()))?);
    }
    all.extend(messages::open_for(tx, &Recipient::Role(session.role.clone()))?);
    Ok(all)
}

/// The messages that fit into one text.
#[derive(Debug, Default)]
pub(super) struct BatchBuilder {
    pub(super) text: String,
    pub(super) messages: Vec<Message>,
    pub(super) announced: Vec<i64>,
}

impl BatchBuilder {
    /// Packs messages in their order into a text of at most `limit` bytes. A message that would not even fit alone is only
    /// announced, once to each session.
    pub(super) fn pack(waiting: Vec<Message>, session: &SessionId, limit: usize) -> Self {
        let mut builder = Self::default();
        for message in waiting {
            let text = render::escape_controls(&mail::format_messages(&[MessageView::from(&message)]));
            let fits = |text: &str| builder.text.len() + text.len() <= limit;
            if text.len() <= limit {
                if builder.messages.len() == MAX_READ || !fits(&text) {
                    break;
                }
                builder.text.push_str(&text);
                builder.messages.push(message);
            } else if !message.is_announced_to(session) {
                let mut line = String::new();
                let _ = writeln!(
                    line,
                    "message {}, {}, from {}: too long to show here ({} bytes); to read it: fairway inbox --ack",
                    message.id,
                    message.priority,
                    message.source,
                    message.content.len()
                );
                if !fits(&line) {
                    break;
                }
                builder.text.push_str(&line);
                builder.announced.push(message.id);
            }
        }
        builder
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn into_batch(self) -> DeliveryBatch {
        DeliveryBatch {
            text: self.text,
            ids: self.messages.iter().map(|message| message.id).collect(),
            announced: self.announced,
        }
    }
}
