//! The states of messages as store rows: offered, acknowledged and expired, each with its event.

use anyhow::Result;

use fairway_core::domain::message::{Channel, Message, MessageStatus, Recipient};
use fairway_core::domain::session::Session;
use fairway_core::domain::{Event, EventKind, LaneName, SessionId};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, WriteTx, messages, overview, sessions};

/// Makes an event about a message. It leaves out the message's text, which does not belong in the event log.
pub(crate) fn event(kind: EventKind, message: &Message) -> Event {
    let (noun, name) = noun_and_name(&message.to);
    let lane = match &message.to {
        Recipient::Lane(lane) => Some(lane),
        _ => None,
    };
    Event::new(kind)
        .lane(lane)
        .with("id", message.id)
        .with("to", format!("{noun} {name}"))
        .with("priority", message.priority.as_str())
        .with("source", message.source.as_str())
}

/// The kind and the name of a recipient, such as `("lane", "web")`.
pub(crate) fn noun_and_name(to: &Recipient) -> (&'static str, &str) {
    match to {
        Recipient::Session(session) => ("session", session.as_str()),
        Recipient::Key(key) => ("session", key.as_str()),
        Recipient::Lane(lane) => ("lane", lane.as_str()),
        Recipient::Role(role) => ("role", role.as_str()),
        Recipient::Person(person) => ("person", person.as_str()),
    }
}

/// Expires the messages whose time to live is over.
pub fn expire(tx: &WriteTx<'_>) -> Result<()> {
    for message in messages::expired(tx, tx.now())? {
        messages::resolve(tx, message.id, MessageStatus::Expired, message.offered_to.as_deref())?;
        tx.record(&event(EventKind::MessageExpired, &message))?;
    }
    Ok(())
}

/// Expires the unacknowledged messages to an ended session. Messages to its lane or role stay for another session, and what was
/// decided about a task that it claims passes to the next session of its lane.
pub fn expire_for_session(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    let heir = heir(tx, session)?;
    for message in messages::open_for(tx, &Recipient::Session(session.id.clone()))? {
        if let Some(lane) = heir.as_ref().filter(|_| is_inherited(&message)) {
            messages::pass_to_lane(tx, message.id, lane)?;
            tx.record(&event(EventKind::MessageQueued, &Message { to: Recipient::Lane(lane.clone()), ..message }))?;
            continue;
        }
        messages::resolve(tx, message.id, MessageStatus::Expired, message.offered_to.as_deref())?;
        let expired = event(EventKind::MessageExpired, &message).session(&session.id, &session.run_id);
        tx.record(&expired.with("reason", "its session is over"))?;
    }
    Ok(())
}

/// The lane whose next session continues the work of this one; `None` while it claims nothing.
fn heir(tx: &ReadTx<'_>, session: &Session) -> Result<Option<LaneName>> {
    let Some(lane) = &session.lane else { return Ok(None) };
    let is_held = overview::held(tx)?.iter().any(|held| held.session.as_ref() == Some(&session.id));
    Ok(is_held.then(|| lane.clone()))
}

/// Text that was typed has probably arrived.
fn is_inherited(message: &Message) -> bool {
    message.is_decision() && !message.is_typed()
}

/// The ids of the open messages to a session, which expire when it ends. Messages that were typed into its terminal are left out,
/// because they have probably arrived, and those that pass to its lane.
pub fn unread_of(tx: &ReadTx<'_>, id: &SessionId) -> Result<Vec<i64>> {
    let heir = sessions::find(tx, id)?.map(|session| heir(tx, &session)).transpose()?.flatten();
    let open = messages::open_for(tx, &Recipient::Session(id.clone()))?;
    let expires = |message: &&Message| !(message.is_typed() || heir.is_some() && is_inherited(message));
    Ok(open.iter().filter(expires).map(|message| message.id).collect())
}

/// The note about messages that expired when their session ended; `None` without any.
pub fn undelivered_note(ids: &[i64]) -> Option<String> {
    match ids {
        [] => None,
        [one] => Some(format!("prompt {one} was not delivered and has expired: fairway outbox --all")),
        several => {
            let ids: Vec<String> = several.iter().map(ToString::to_string).collect();
            Some(format!("prompts {} were not delivered and have expired: fairway outbox --all", ids.join(", ")))
        }
    }
}

/// Offers messages to a session until the time `until`, and records an event for each.
pub(crate) fn offer(
    tx: &WriteTx<'_>,
    session: &Session,
    all: &[Message],
    channel: Channel,
    until: Timestamp,
) -> Result<()> {
    for message in all {
        messages::offer(tx, message.id, session.id.as_str(), until, channel)?;
        let offered = event(EventKind::MessageOffered, message).session(&session.id, &session.run_id);
        tx.record(&offered.with("reader", session.id.as_str()).with("way", channel.as_str()))?;
    }
    Ok(())
}

pub(crate) fn acknowledge(tx: &WriteTx<'_>, message: &Message, session: &Session) -> Result<()> {
    messages::resolve(tx, message.id, MessageStatus::Acknowledged, Some(session.id.as_str()))?;
    let acknowledged = event(EventKind::MessageAcknowledged, message).session(&session.id, &session.run_id);
    tx.record(&acknowledged.with("reader", session.id.as_str()).with("way", message.channel.map(Channel::as_str)))?;
    Ok(())
}

/// Acknowledges the prompts that were typed into a session. Call it on any report of the session, which proves that the
/// typed text arrived.
pub fn confirm_typed(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    for message in messages::typed_to(tx, &session.id)? {
        acknowledge(tx, &message, session)?;
    }
    Ok(())
}
