//! The inbox: read messages, wait for them, acknowledge them.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::format_messages;
use crate::core::message_state::{event, expire};
use crate::core::server_outage::ServerOutage;
use crate::core::{errors, inside_session, lookup};
use crate::{Answer, App};
use fairway_core::config::show_duration;
use fairway_core::domain::message::{Channel, Message, MessageStatus, OFFER_TIMEOUT_SECS, Recipient};
use fairway_core::domain::rules::delivery::{self, ReadPlan};
use fairway_core::domain::{Actor, EventKind, PersonName, Refusal, RoutingKey, plural};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, WriteTx, messages};
use fairway_core::wire::MessageView;

/// Who reads an inbox: a session or person, with its lane and role.
#[derive(Debug, Clone)]
pub struct InboxReader {
    name: String,
    addresses: Vec<Recipient>,
    /// Whether the reader is a session that is not registered.
    is_unregistered: bool,
    since: Timestamp,
}

/// The messages of one read.
#[derive(Debug, Clone, Default)]
pub struct InboxBatch {
    pub messages: Vec<MessageView>,
    remaining: usize,
}

impl InboxBatch {
    /// Adds a note with the number of messages that still wait, if there are any.
    pub fn with_notes(&self, answer: Answer) -> Answer {
        match self.remaining {
            0 => answer,
            more => answer.note(format!("{} waiting: fairway inbox", plural::count(more, "more message"))),
        }
    }
}

/// The actor that reads the messages under a session key that is no session's id.
pub fn actor_of_key(key: &RoutingKey) -> Actor {
    Actor { name: key.to_string(), session: None, run_id: None, role: None, lane: None, epoch: None }
}

fn reader_of_key(tx: &ReadTx<'_>, key: &RoutingKey, since: Timestamp) -> Result<InboxReader> {
    let is_person = Recipient::person_of_key(key.as_str()).is_some();
    if is_person || !lookup::is_used_key(tx, key)? {
        return Err(Refusal::not_found("session", key.to_string()).into());
    }
    Ok(InboxReader {
        name: key.to_string(),
        addresses: vec![Recipient::Key(key.clone())],
        is_unregistered: true,
        since,
    })
}

/// Determines which messages an actor reads: those to its session or to `person`, and those to its lane and its role. `since` is
/// the time at which the command began to wait. A session that is not registered may read when it has messages or has started
/// jobs.
///
/// # Errors
/// `usage` when neither a session, a person, a lane nor a role is known; `not_found` for any other session that is not
/// registered.
pub fn reader_for(
    tx: &ReadTx<'_>,
    actor: &Actor,
    person: Option<&PersonName>,
    since: Timestamp,
) -> Result<InboxReader> {
    let is_foreign = match &actor.session {
        Some(session) => lookup::is_unregistered(tx, session)?,
        None => false,
    };
    let (role, lane) =
        if is_foreign { (actor.role.clone(), actor.lane.clone()) } else { lookup::effective_scope(tx, actor)? };
    let own = match &actor.session {
        Some(session) => Some(Recipient::Session(session.clone())),
        None => person.cloned().map(Recipient::Person),
    };
    let addresses: Vec<Recipient> =
        own.into_iter().chain(lane.map(Recipient::Lane)).chain(role.map(Recipient::Role)).collect();
    if addresses.is_empty() {
        let why = "an inbox needs a reader: give --session ID or --as ROLE".into();
        return Err(Refusal::Usage { why }.into());
    }
    Ok(InboxReader { name: actor.name.clone(), addresses, is_unregistered: is_foreign, since })
}

/// The acting person. `None` when the actor is a session, and for a program inside a session that does not act under the
/// session's id.
pub fn acting_person(app: &App) -> Result<Option<PersonName>> {
    match (&app.actor.session, PersonName::of_actor(&app.actor.name)) {
        (None, Some(person)) if !inside_session::is_inside(app) => Ok(Some(person)),
        _ => Ok(None),
    }
}

fn plan(tx: &ReadTx<'_>, reader: &InboxReader, now: Timestamp) -> Result<ReadPlan> {
    let mut open = Vec::new();
    for address in &reader.addresses {
        open.extend(messages::open_for(tx, address)?);
    }
    Ok(delivery::plan_read(open, &reader.name, reader.since, now))
}

/// Offers the waiting messages to the reader, and acknowledges those that the reader got with its previous read. With
/// `acknowledge` the new ones are acknowledged at once, too.
pub fn read_batch(tx: &WriteTx<'_>, reader: &InboxReader, channel: Channel, acknowledge: bool) -> Result<InboxBatch> {
    expire(tx)?;
    let reading = plan(tx, reader, tx.now())?;
    acknowledge_read(tx, &reading, reader)?;
    let until = tx.now().plus(Duration::from_secs(OFFER_TIMEOUT_SECS));
    let mut taken = Vec::new();
    for message in reading.offered {
        messages::offer(tx, message.id, &reader.name, until, channel)?;
        let offered = event(EventKind::MessageOffered, &message).with("reader", reader.name.as_str());
        tx.record(&offered.with("way", channel.as_str()))?;
        let status = if acknowledge {
            acknowledge_message(tx, message.id, reader)?;
            MessageStatus::Acknowledged
        } else {
            MessageStatus::Offered
        };
        taken.push(MessageView::from(&Message { status, channel: Some(channel), ..message }));
    }
    Ok(InboxBatch { messages: taken, remaining: reading.remaining })
}

/// Acknowledges the messages of the previous read without offering any.
fn acknowledge_read(tx: &WriteTx<'_>, reading: &ReadPlan, reader: &InboxReader) -> Result<()> {
    for id in &reading.acknowledged {
        acknowledge_message(tx, *id, reader)?;
    }
    Ok(())
}

fn acknowledge_message(tx: &WriteTx<'_>, id: i64, reader: &InboxReader) -> Result<()> {
    messages::resolve(tx, id, MessageStatus::Acknowledged, Some(&reader.name))?;
    tx.record(
        &fairway_core::domain::Event::new(EventKind::MessageAcknowledged)
            .with("id", id)
            .with("reader", reader.name.as_str()),
    )?;
    Ok(())
}

/// Reads the actor's messages, or those under `key`. With `wait` it blocks until there is one; without it the answer may have
/// none. An outage of the store's server does not end the wait: `warn` gets a message about it.
///
/// # Errors
/// `nothing_arrived` when the wait is over; `not_found` for an unknown session or key; `usage`.
pub fn inbox(
    app: &App,
    key: Option<&RoutingKey>,
    wait: Option<Duration>,
    acknowledge: bool,
    warn: &mut dyn FnMut(&str),
) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let waiter = match wait {
        Some(limit) => Some((app.waiter("inbox")?, Instant::now() + limit, limit)),
        None => None,
    };
    let since = app.env.now();
    let person = acting_person(app)?;
    let look = || {
        app.read(|tx| {
            let reader = match key {
                Some(key) => reader_of_key(tx, key, since)?,
                None => reader_for(tx, &app.actor, person.as_ref(), since)?,
            };
            let seen = plan(tx, &reader, app.env.now())?;
            Ok((reader, seen))
        })
        .and_then(|(reader, seen)| take(app, &reader, seen, acknowledge))
    };
    let mut outage = ServerOutage::new(warn);
    loop {
        let taken = match &waiter {
            Some((waiter, deadline, _)) => outage.outlast(waiter, Some(*deadline), look)?,
            None => look()?,
        };
        let next_offer_expiry = match taken {
            Taken::Messages(answer) => return Ok(*answer),
            Taken::Nothing { next_offer_expiry } => next_offer_expiry,
        };
        let Some((waiter, deadline, limit)) = &waiter else {
            return Answer::new(&Vec::<MessageView>::new(), "", "no messages").map(without_ids);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        // An expiring offer is no change, so it wakes no waiter.
        let until_expiry = next_offer_expiry.map(|at| at.since(app.env.now()).max(Duration::from_millis(1)));
        let woken = waiter
            .wait(Some(until_expiry.map_or(left, |until_expiry| until_expiry.min(left))))
            .map_err(errors::internal)?;
        if !woken && Instant::now() >= *deadline {
            return Err(Refusal::WaitTimedOut { within: show_duration(*limit) }.into());
        }
    }
}

enum Taken {
    Messages(Box<Answer>),
    Nothing { next_offer_expiry: Option<Timestamp> },
}

/// Takes the messages that were seen, or only acknowledges those of the previous read.
fn take(app: &App, reader: &InboxReader, seen: ReadPlan, acknowledge: bool) -> Result<Taken> {
    if !seen.offered.is_empty() {
        let take = |tx: &WriteTx<'_>| read_answer(tx, reader, acknowledge);
        match if reader.is_unregistered { app.mutate_unattributed(take) } else { app.mutate(take) } {
            // Another reader of this lane or role took the messages first.
            Err(error) if matches!(error.downcast_ref(), Some(Refusal::WaitTimedOut { .. })) => {}
            done => return done.map(|answer| Taken::Messages(Box::new(answer))),
        }
    } else if !seen.acknowledged.is_empty() {
        app.transaction(|tx| acknowledge_read(tx, &plan(tx, reader, tx.now())?, reader))?;
    }
    Ok(Taken::Nothing { next_offer_expiry: seen.next_offer_expiry })
}

fn read_answer(tx: &WriteTx<'_>, reader: &InboxReader, acknowledge: bool) -> Result<Answer> {
    let taken = read_batch(tx, reader, Channel::Inbox, acknowledge)?;
    if taken.messages.is_empty() {
        return Err(Refusal::WaitTimedOut { within: String::new() }.into());
    }
    let ids: Vec<String> = taken.messages.iter().map(|message| message.id.to_string()).collect();
    let line = format_messages(&taken.messages);
    Ok(taken.with_notes(Answer { ids, ..Answer::new(&taken.messages, "", line.trim_end())? }))
}

fn without_ids(answer: Answer) -> Answer {
    Answer { ids: Vec::new(), ..answer }
}
