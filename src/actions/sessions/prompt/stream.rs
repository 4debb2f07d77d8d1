//! What a runtime is sent down its stream, and what it says it has got.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::deliver_inline::{acknowledge, for_session, offer};
use crate::{
    actions::{Answer, App, mail::inbox::expire, sessions::find_by_run::session_of_run},
    domain::{
        message::{Channel, Message, MessageStatus, OFFER_TIMEOUT_SECS},
        rules::delivery::{self, MAX_READ},
        session::Session,
    },
    env::Timestamp,
    store::{ReadTx, messages, sessions},
    wire::MessageView,
};

/// What a session's stream gets now: what may go there, and what it was sent before and did not acknowledge in time. One
/// that has just connected gets at once what was sent to the one before it and not acknowledged, as long as
/// `since_connected` says what it was sent itself; `after` is the number of what the one before it got last, and what was
/// sent up to that one is left out, unless that one is acknowledged. It is offered to the session for a minute.
///
/// # Errors
/// As the store fails.
pub fn next_batch(
    app: &App,
    session: &Session,
    after: Option<i64>,
    since_connected: Option<&[i64]>,
) -> Result<Vec<MessageView>> {
    let due = |tx: &ReadTx<'_>, now: Timestamp| -> Result<Vec<Message>> {
        let Some(now_as) = sessions::find(tx, &session.id)?.filter(|now| !now.status.is_final()) else {
            return Ok(Vec::new());
        };
        let all = for_session(tx, &now_as)?;
        // Numbers tell nothing here: what is urgent or was held back goes before or after smaller ones.
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

/// In which order messages are sent that are sent at once.
fn queue_order(message: &Message) -> (u8, i64) {
    (message.priority.rank(), message.id)
}

/// In which order messages were sent.
fn offer_order(message: &Message) -> (Option<Timestamp>, (u8, i64)) {
    (message.offered_until, queue_order(message))
}

/// When the next offer to this session's stream lapses, and is to be sent again; `None` when there is none.
///
/// # Errors
/// As the store fails.
pub fn offer_expires_at(app: &App, session: &Session) -> Result<Option<Timestamp>> {
    app.read(|tx| {
        let all = for_session(tx, session)?;
        let own =
            all.iter().filter(|message| message.channel == Some(Channel::Stream) && message.is_offered(app.env.now()));
        Ok(own.filter_map(|message| message.offered_until).min())
    })
}

/// The runtime of this run has got these messages: those that were offered to its session are acknowledged. Others are named
/// in the answer, `{acknowledged[], unknown[]}`; a repeat is harmless.
///
/// # Errors
/// `not_found` for an unknown run.
pub fn ack(app: &App, run_id: &str, ids: &[i64]) -> Result<Answer> {
    app.mutate_unattributed(|tx| {
        let session = session_of_run(tx, run_id)?;
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
