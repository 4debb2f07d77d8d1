//! Bringing what waits to a session: by whoever is about to say something to it anyway, and shows it what they were given.

use std::{fmt::Write, time::Duration};

use anyhow::Result;

use crate::{
    actions::{
        App,
        mail::{self, inbox::expire, send::event},
    },
    domain::{
        EventKind, SessionId,
        message::{Channel, Message, MessageStatus, OFFER_TIMEOUT_SECS, Recipient},
        rules::delivery::{self, MAX_READ},
        session::Session,
    },
    env::Timestamp,
    render,
    store::{ReadTx, WriteTx, messages, sessions},
    wire::MessageView,
};

/// What somebody shows to a session. It is offered for a minute: who shows it later than that shows it twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryBatch {
    /// The text, as [`mail::words`] marks it.
    pub text: String,
    /// The messages in it.
    pub ids: Vec<i64>,
    /// Those that are too long, of which it says only that they wait.
    pub announced: Vec<i64>,
}

/// What may be shown to a session now by this way, in at most `limit` bytes of text. It is offered to the session, so that
/// nobody else shows it: of several who ask at once, each message goes to one. `None` when there is nothing.
///
/// # Errors
/// As the store fails.
pub fn take_deliverable(app: &App, session: &Session, way: Channel, limit: usize) -> Result<Option<DeliveryBatch>> {
    let waits = |tx: &ReadTx<'_>, now: Timestamp| -> Result<BatchBuilder> {
        // What it does now, and not when its session was read.
        let Some(now_as) = sessions::find(tx, &session.id)?.filter(|now| !now.status.is_final()) else {
            return Ok(BatchBuilder::default());
        };
        let free = delivery::deliverable(for_session(tx, &now_as)?, way, now_as.activity, now);
        Ok(BatchBuilder::pack(free, &session.id, limit))
    };
    // Most often there is nothing, and nobody is kept from writing.
    if app.read(|tx| waits(tx, app.env.now()))?.is_empty() {
        return Ok(None);
    }
    let load = app.transaction(|tx| {
        expire(tx)?;
        let load = waits(tx, tx.now())?;
        offer(tx, session, &load.messages, way, tx.now().plus(Duration::from_secs(OFFER_TIMEOUT_SECS)))?;
        Ok(load)
    })?;
    Ok((!load.is_empty()).then(|| load.into_batch()))
}

/// The session was shown it, whole: what is still offered to it is acknowledged. What was withdrawn meanwhile stays so.
///
/// # Errors
/// As the store fails.
pub fn confirm_delivered(app: &App, session: &Session, carried: &DeliveryBatch) -> Result<()> {
    app.transaction(|tx| {
        for id in &carried.ids {
            if let Some(message) = messages::find(tx, *id)?
                && message.status == MessageStatus::Offered
                && message.offered_to.as_deref() == Some(session.id.as_str())
            {
                acknowledge(tx, &message, session)?;
            }
        }
        for id in &carried.announced {
            messages::mark_announced(tx, *id, &session.id)?;
        }
        Ok(())
    })
}

/// The unsettled messages to a session, its lane and its role.
///
/// # Errors
/// As the store fails.
pub(super) fn for_session(tx: &ReadTx<'_>, session: &Session) -> Result<Vec<Message>> {
    let mut all = messages::open_for(tx, &Recipient::Session(session.id.clone()))?;
    if let Some(lane) = &session.lane {
        all.extend(messages::open_for(tx, &Recipient::Lane(lane.clone()))?);
    }
    all.extend(messages::open_for(tx, &Recipient::Role(session.role.clone()))?);
    Ok(all)
}

/// Offers messages to a session.
///
/// # Errors
/// As the store fails.
pub(super) fn offer(
    tx: &WriteTx<'_>,
    session: &Session,
    all: &[Message],
    way: Channel,
    until: Timestamp,
) -> Result<()> {
    for message in all {
        messages::offer(tx, message.id, session.id.as_str(), until, way)?;
        let offered = event(EventKind::MessageOffered, message).session(&session.id, &session.run_id);
        tx.record(&offered.with("reader", session.id.as_str()).with("way", way.as_str()))?;
    }
    Ok(())
}

/// Acknowledges a message that was offered to a session.
///
/// # Errors
/// As the store fails.
pub(crate) fn acknowledge(tx: &WriteTx<'_>, message: &Message, session: &Session) -> Result<()> {
    messages::resolve(tx, message.id, MessageStatus::Acknowledged, Some(session.id.as_str()))?;
    let settled = event(EventKind::MessageAcknowledged, message).session(&session.id, &session.run_id);
    tx.record(&settled.with("reader", session.id.as_str()).with("way", message.channel.map(Channel::as_str)))?;
    Ok(())
}

/// What fits into one text.
#[derive(Debug, Default)]
pub(super) struct BatchBuilder {
    pub(super) text: String,
    pub(super) messages: Vec<Message>,
    pub(super) announced: Vec<i64>,
}

impl BatchBuilder {
    /// Of these messages, in their order, as many as `limit` bytes hold. One that would not fit into an empty text is only
    /// announced, once to each session.
    pub(super) fn pack(waiting: Vec<Message>, session: &SessionId, limit: usize) -> Self {
        let mut load = Self::default();
        for message in waiting {
            let text = render::escape_controls(&mail::format_messages(&[MessageView::from(&message)]));
            let fits = |text: &str| load.text.len() + text.len() <= limit;
            if text.len() <= limit {
                if load.messages.len() == MAX_READ || !fits(&text) {
                    break;
                }
                load.text.push_str(&text);
                load.messages.push(message);
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
                load.text.push_str(&line);
                load.announced.push(message.id);
            }
        }
        load
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
