//! Delivery of messages over a runtime's stream, and their acknowledgement.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::deliver_inline::for_session;
use crate::core::lookup;
use crate::core::message_state::{acknowledge, expire, offer};
use crate::{Answer, App};
use fairway_core::domain::RunId;
use fairway_core::domain::message::{Channel, Message, MessageStatus, OFFER_TIMEOUT_SECS};
use fairway_core::domain::rules::delivery::{self, MAX_READ};
use fairway_core::domain::session::Session;
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, messages, sessions};
use fairway_core::wire::MessageView;

/// Offers the next messages to a session over its stream, each for 60 s: messages that can be delivered, and those whose earlier
/// offer has expired without an acknowledgement. A new connection passes as `since_connected` the ids that it was sent itself; it
/// also gets the messages that the previous connection has not acknowledged. `after` is the id of the last message that the
/// previous connection received: of the messages that it was offered, those up to this one are left out, unless this one is
/// acknowledged already.
pub fn next_batch(
    app: &App,
    session: &Session,
    after: Option<i64>,
    since_connected: Option<&[i64]>,
) -> Result<Vec<MessageView>> {
    let due = |tx: &ReadTx<'_>, now: Timestamp| -> Result<Vec<Message>> {
        let takes = |one: &Session| !one.status.is_final() && !one.is_parked(now);
        let Some(now_as) = sessions::find(tx, &session.id)?.filter(takes) else {
            return Ok(Vec::new());
        };
        let all = for_session(tx, &now_as)?;
        // Ids do not give the order of sending: urgent messages go first, deferred ones later.
        let last = after.and_then(|after| all.iter().find(|message| message.id == after)).map(offer_order);
        let is_again = |message: &&Message| {
            message.channel == Some(Channel::Stream)
                && message.offered_to.as_deref() == Some(session.id.as_str())
                && message.is_offered(now)
                && !message.is_expired(now)
                && last.is_none_or(|last| offer_order(message) > last)
                && since_connected.is_some_and(|sent| !sent.contains(&message.id))
        };
        let again: Vec<Message> = all.iter().filter(is_again).cloned().collect();
        let mut due = delivery::deliverable(all, Channel::Stream, now_as.activity, now);
        due.extend(again);
        due.sort_by_key(queue_order);
        due.truncate(MAX_READ);
        Ok(due)
    };
    if app.read(|tx| due(tx, app.env.now()))?.is_empty() {
        return Ok(Vec::new());
    }
    app.transaction(|tx| {
        expire(tx)?;
        let due = due(tx, tx.now())?;
        offer(tx, session, &due, Channel::Stream, tx.now().plus(Duration::from_secs(OFFER_TIMEOUT_SECS)))?;
        let offered =
            |message: Message| Message { status: MessageStatus::Offered, channel: Some(Channel::Stream), ..message };
        Ok(due.into_iter().map(|message| MessageView::from(&offered(message))).collect())
    })
}

/// The sort key of messages within a batch.
fn queue_order(message: &Message) -> (u8, i64) {
    (message.priority.rank(), message.id)
}

/// The sort key of messages by the time of their offer.
fn offer_order(message: &Message) -> (Option<Timestamp>, (u8, i64)) {
    (message.offered_until, queue_order(message))
}

/// When the next offer to this session's stream expires, so that its message is sent again; `None` without an offer.
pub fn offer_expires_at(app: &App, session: &Session) -> Result<Option<Timestamp>> {
    app.read(|tx| {
        let all = for_session(tx, session)?;
        let own =
            all.iter().filter(|message| message.channel == Some(Channel::Stream) && message.is_offered(app.env.now()));
        Ok(own.filter_map(|message| message.offered_until).min())
    })
}

/// Acknowledges messages that the runtime of a session run has received, provided that they were offered to its session. The
/// answer is `{acknowledged[], unknown[]}`; a repeat is harmless.
///
/// # Errors
/// `not_found` for an unknown run.
pub fn ack(app: &App, run_id: &RunId, ids: &[i64]) -> Result<Answer> {
    app.mutate_unattributed(|tx| {
        let session = lookup::session_of_run(tx, run_id)?;
        let (mut acknowledged, mut unknown) = (Vec::new(), Vec::new());
        for id in ids {
            let found =
                messages::find(tx, *id)?.filter(|message| message.offered_to.as_deref() == Some(session.id.as_str()));
            match found {
                Some(message) if message.status == MessageStatus::Offered => {
                    acknowledge(tx, &message, &session)?;
                    acknowledged.push(*id);
                }
                Some(message) if message.status == MessageStatus::Acknowledged => acknowledged.push(*id),
                _ => unknown.push(*id),
            }
        }
        let line = format!("{} of {} acknowledged", acknowledged.len(), ids.len());
        Answer::new(&json!({ "acknowledged": acknowledged, "unknown": unknown }), run_id, line)
    })
}
