//! Messages as rows. Open messages (queued or offered) are found through partial indexes, so the cost does not depend on the
//! number of old messages.

use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::message::{Channel, LAND_SOURCE, Message, MessageStatus, NEVER_EXPIRES, REVIEW_SOURCE, Recipient};
use crate::domain::{LaneName, Role, RoutingKey, SessionId};
use crate::env::Timestamp;

/// How long a message is kept after it was acknowledged, expired or withdrawn, in milliseconds: a week.
const RETENTION_MS: i64 = 7 * 24 * 60 * 60 * 1000;

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, to_session, to_lane, to_role, priority, source, content, metadata, status, dedup, count, ",
            "offered_to, offered_until, expires_at, created_at, channel, announced_to, answered_at, stop_reason FROM messages ",
            $rest
        )
    };
}

const TO_SESSION: &str = select!(
    "INDEXED BY messages_session WHERE settled_at IS NULL AND to_session IS NOT NULL AND to_session = $1 ORDER BY id"
);
const TYPED_TO: &str = select!(
    "INDEXED BY messages_session WHERE settled_at IS NULL AND to_session IS NOT NULL AND to_session = $1 \
     AND status = 'offered' AND offered_until = $2 ORDER BY id"
);
const TO_LANE: &str =
    select!("INDEXED BY messages_lane WHERE settled_at IS NULL AND to_lane IS NOT NULL AND to_lane = $1 ORDER BY id");
const TO_ROLE: &str =
    select!("INDEXED BY messages_role WHERE settled_at IS NULL AND to_role IS NOT NULL AND to_role = $1 ORDER BY id");
const OPEN_DECISIONS: &str = select!(
    "INDEXED BY messages_session WHERE settled_at IS NULL AND to_session IS NOT NULL AND source IN ($1, $2) ORDER BY id"
);
const EXPIRED: &str = select!(
    "INDEXED BY messages_expiring WHERE settled_at IS NULL AND expires_at IS NOT NULL AND expires_at <= $1 \
     ORDER BY expires_at"
);
const NEXT_EXPIRY: &str = "SELECT expires_at FROM messages INDEXED BY messages_expiring \
     WHERE settled_at IS NULL AND expires_at IS NOT NULL AND expires_at > $1 ORDER BY expires_at LIMIT 1";
const ONE: &str = select!("WHERE id = $1");
const ACKNOWLEDGED_BY_DEDUP_KEY: &str = select!(
    "INDEXED BY messages_dedup WHERE dedup IS NOT NULL AND dedup = $1 AND to_session = $2 AND status = 'acknowledged' \
     ORDER BY id DESC LIMIT 1"
);
const BY_DEDUP_KEY: &str = select!("INDEXED BY messages_dedup WHERE dedup IS NOT NULL AND dedup = $1 ORDER BY id");
/// Used only for unregistered sessions.
const EVER_TO: &str = "SELECT id FROM messages WHERE to_session = $1 LIMIT 1";
const INSERT: &str = "INSERT INTO messages (to_session, to_lane, to_role, priority, source, content, metadata, status, \
     dedup, count, expires_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, 'queued', $8, 1, $9, $10) RETURNING id";
const UPDATE_REPEAT: &str =
    "UPDATE messages SET count = $2, priority = $3, expires_at = $4, metadata = $5 WHERE id = $1";
const OFFER: &str =
    "UPDATE messages SET status = 'offered', offered_to = $2, offered_until = $3, channel = $4 WHERE id = $1";
const EXTEND_OFFER: &str =
    "UPDATE messages SET offered_until = $3 WHERE id = $1 AND status = 'offered' AND offered_until = $2";
const WITHDRAW_OFFER: &str = "UPDATE messages SET status = 'queued', offered_to = NULL, offered_until = NULL, channel = NULL \
     WHERE id = $1 AND status = 'offered' AND offered_until = $2";
const MARK_ANNOUNCED: &str =
    "UPDATE messages SET announced_to = coalesce(announced_to || ' ', '') || $2 WHERE id = $1 AND settled_at IS NULL";
const ALL_OPEN: &str = select!("WHERE settled_at IS NULL ORDER BY id DESC LIMIT $1");
const NEWEST: &str = select!("ORDER BY id DESC LIMIT $1");
const NEWEST_TO: &str = select!("WHERE to_session = $2 ORDER BY id DESC LIMIT $1");
const RESOLVE: &str =
    "UPDATE messages SET status = $2, offered_to = $3, offered_until = NULL, settled_at = $4 WHERE id = $1";
const PASS_TO_LANE: &str = "UPDATE messages SET to_session = NULL, to_lane = $2, status = 'queued', offered_to = NULL, \
     offered_until = NULL, channel = NULL, announced_to = NULL WHERE id = $1";
const ANSWER: &str = "UPDATE messages SET answered_at = $2, stop_reason = $3 WHERE id = $1 AND answered_at IS NULL";
const DELETE_OLD: &str = "DELETE FROM messages WHERE id IN (SELECT id FROM messages INDEXED BY messages_settled \
     WHERE settled_at IS NOT NULL AND settled_at < $1 LIMIT 100)";

fn read(row: &Row<'_>) -> Result<Message, StoreError> {
    let key: Option<String> = row.get(1)?;
    let person = key.as_deref().and_then(Recipient::person_of_key);
    let session = sql::parse_optional_id("a session key", key.filter(|_| person.is_none()), RoutingKey::parse)?;
    let lane = row.get::<Option<LaneName>>(2)?.map(Recipient::Lane);
    let role = row.get::<Option<Role>>(3)?.map(Recipient::Role);
    let missing = || StoreError::Unreadable { what: "a message's recipient", value: "nothing".into() };
    Ok(Message {
        id: row.get(0)?,
        to: person.or(session.as_ref().map(Recipient::from)).or(lane).or(role).ok_or_else(missing)?,
        priority: row.get(4)?,
        source: row.get(5)?,
        content: row.get(6)?,
        metadata: row.get(7)?,
        status: row.get(8)?,
        dedup: row.get(9)?,
        count: row.get(10)?,
        offered_to: row.get(11)?,
        offered_until: row.get(12)?,
        expires_at: row.get(13)?,
        created_at: row.get(14)?,
        channel: row.get(15)?,
        announced_to: row.get(16)?,
        answered_at: row.get(17)?,
        stop_reason: row.get(18)?,
    })
}

/// The open messages to one recipient, oldest first.
pub fn open_for(tx: &ReadTx<'_>, to: &Recipient) -> Result<Vec<Message>, StoreError> {
    let (query, name) = match to {
        Recipient::Session(session) => (TO_SESSION, session.as_str()),
        Recipient::Key(key) => (TO_SESSION, key.as_str()),
        Recipient::Lane(lane) => (TO_LANE, lane.as_str()),
        Recipient::Role(role) => (TO_ROLE, role.as_str()),
        Recipient::Person(person) => {
            return sql::rows(tx.conn(), TO_SESSION, &[&Recipient::person_key(person)], read);
        }
    };
    sql::rows(tx.conn(), query, &[&name], read)
}

/// The open messages to sessions that tell what was decided, oldest first.
pub fn open_decisions(tx: &ReadTx<'_>) -> Result<Vec<Message>, StoreError> {
    sql::rows(tx.conn(), OPEN_DECISIONS, &[&REVIEW_SOURCE, &LAND_SOURCE], read)
}

/// The messages that were typed into a session and are not acknowledged yet.
pub fn typed_to(tx: &ReadTx<'_>, session: &SessionId) -> Result<Vec<Message>, StoreError> {
    sql::rows(tx.conn(), TYPED_TO, &[&session, &NEVER_EXPIRES], read)
}

/// The open messages whose time of expiry is past.
pub fn expired(tx: &ReadTx<'_>, now: Timestamp) -> Result<Vec<Message>, StoreError> {
    sql::rows(tx.conn(), EXPIRED, &[&now], read)
}

/// The first time after `now` at which an open message expires.
pub fn next_expiry(tx: &ReadTx<'_>, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    sql::first(tx.conn(), NEXT_EXPIRY, &[&now], |row| row.get::<Timestamp>(0))
}

/// The messages with this deduplication key, open or not. Messages that are no longer open are deleted after a week.
pub fn with_dedup_key(tx: &ReadTx<'_>, key: &str) -> Result<Vec<Message>, StoreError> {
    sql::rows(tx.conn(), BY_DEDUP_KEY, &[&key], read)
}

/// Whether there is a message to this session key, open or not.
pub fn has_any_to(tx: &ReadTx<'_>, key: &RoutingKey) -> Result<bool, StoreError> {
    Ok(sql::first(tx.conn(), EVER_TO, &[&key], |_| Ok(()))?.is_some())
}

/// Queues a message; the store sets its id and time. Also deletes some messages whose retention is over.
/// Fails when the message's lane is unknown.
pub fn insert(tx: &WriteTx<'_>, message: Message) -> Result<Message, StoreError> {
    sql::execute(tx.conn(), DELETE_OLD, &[&(tx.now().millis() - RETENTION_MS)])?;
    let (session, lane, role) = recipient_columns(&message.to);
    let id = sql::first(
        tx.conn(),
        INSERT,
        &[
            &session,
            &lane,
            &role,
            &message.priority,
            &message.source,
            &message.content,
            &message.metadata,
            &message.dedup,
            &message.expires_at,
            &tx.now(),
        ],
        |row| row.get(0),
    )?;
    Ok(Message { id: id.unwrap_or_default(), created_at: tx.now(), ..message })
}

/// The values of the three columns that name a recipient: session, lane and role. Two of them are `None`.
pub fn recipient_columns(to: &Recipient) -> (Option<String>, Option<&str>, Option<&str>) {
    match to {
        Recipient::Session(session) => (Some(session.to_string()), None, None),
        Recipient::Key(key) => (Some(key.to_string()), None, None),
        Recipient::Person(person) => (Some(Recipient::person_key(person)), None, None),
        Recipient::Lane(lane) => (None, Some(lane.as_str()), None),
        Recipient::Role(role) => (None, None, Some(role.as_str())),
    }
}

/// Writes the changed columns of a message that was sent again: its count, priority, expiry and metadata.
pub fn update_repeat(tx: &WriteTx<'_>, message: &Message) -> Result<(), StoreError> {
    let expires = message.expires_at.map(Timestamp::millis);
    let columns: [&dyn sql::ToValue; 5] = [&message.id, &message.count, &message.priority, &expires, &message.metadata];
    sql::execute(tx.conn(), UPDATE_REPEAT, &columns)?;
    Ok(())
}

/// Offers a message to a reader over a channel; the offer ends at `until`.
pub fn offer(tx: &WriteTx<'_>, id: i64, reader: &str, until: Timestamp, channel: Channel) -> Result<(), StoreError> {
    sql::execute(tx.conn(), OFFER, &[&id, &reader, &until, &channel])?;
    Ok(())
}

/// Queues an open message for the next session that reads the messages of a lane, in place of its recipient.
pub fn pass_to_lane(tx: &WriteTx<'_>, id: i64, lane: &LaneName) -> Result<(), StoreError> {
    sql::execute(tx.conn(), PASS_TO_LANE, &[&id, &lane])?;
    Ok(())
}

/// Sets the final status of a message: acknowledged by a reader, expired or withdrawn.
pub fn resolve(tx: &WriteTx<'_>, id: i64, how: MessageStatus, reader: Option<&str>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), RESOLVE, &[&id, &how, &reader, &tx.now()])?;
    Ok(())
}

/// Records that the turn which took a message has ended, and why. Returns `false` when that was recorded already.
pub fn answer(tx: &WriteTx<'_>, id: i64, stop_reason: &str) -> Result<bool, StoreError> {
    Ok(sql::execute(tx.conn(), ANSWER, &[&id, &tx.now(), &stop_reason])? == 1)
}

pub fn find(tx: &ReadTx<'_>, id: i64) -> Result<Option<Message>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}

/// The newest acknowledged message to a session with this deduplication key.
pub fn find_acknowledged(tx: &ReadTx<'_>, to: &SessionId, key: &str) -> Result<Option<Message>, StoreError> {
    sql::first(tx.conn(), ACKNOWLEDGED_BY_DEDUP_KEY, &[&key, &to], read)
}

/// Extends an offer that ends at `until` to the time `then`. Returns whether the offer still existed.
pub fn extend_offer(tx: &WriteTx<'_>, id: i64, until: Timestamp, then: Timestamp) -> Result<bool, StoreError> {
    Ok(sql::execute(tx.conn(), EXTEND_OFFER, &[&id, &until, &then])? == 1)
}

/// Withdraws an offer that ends at `until`, so that the message is queued again. Returns whether the offer still existed.
pub fn withdraw_offer(tx: &WriteTx<'_>, id: i64, until: Timestamp) -> Result<bool, StoreError> {
    Ok(sql::execute(tx.conn(), WITHDRAW_OFFER, &[&id, &until])? == 1)
}

/// Records that a session got an announcement of a message that is too long for its channel.
pub fn mark_announced(tx: &WriteTx<'_>, id: i64, to: &SessionId) -> Result<(), StoreError> {
    sql::execute(tx.conn(), MARK_ANNOUNCED, &[&id, &to])?;
    Ok(())
}

/// The newest messages, oldest first, at most `most`: to one session or to all recipients; with `settled_too`, also those that
/// are no longer open.
pub fn newest(
    tx: &ReadTx<'_>,
    to: Option<&SessionId>,
    settled_too: bool,
    most: usize,
) -> Result<Vec<Message>, StoreError> {
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut found = match (to, settled_too) {
        (Some(session), false) => {
            let mut all = open_for(tx, &Recipient::Session(session.clone()))?;
            let older = all.len().saturating_sub(most);
            all.drain(..older);
            return Ok(all);
        }
        (Some(session), true) => sql::rows(tx.conn(), NEWEST_TO, &[&limit, &session], read)?,
        (None, false) => sql::rows(tx.conn(), ALL_OPEN, &[&limit], read)?,
        (None, true) => sql::rows(tx.conn(), NEWEST, &[&limit], read)?,
    };
    found.reverse();
    Ok(found)
}
