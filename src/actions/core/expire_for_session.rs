//! What becomes of a session's messages when it is over.

use anyhow::Result;

use crate::{
    actions::mail::send::event,
    domain::{
        EventKind,
        message::{MessageStatus, Recipient},
        session::Session,
    },
    store::{WriteTx, messages},
};

/// Nobody will read any more what this session has not acknowledged: it expires, with an event for each. What was only
/// offered to it and is for its lane or role goes to another when the offer lapses.
///
/// # Errors
/// As the store fails.
pub fn expire_for_session(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    for message in messages::open_for(tx, &Recipient::Session(session.id.clone()))? {
        messages::resolve(tx, message.id, MessageStatus::Expired, message.offered_to.as_deref())?;
        let expired = event(EventKind::MessageExpired, &message).session(&session.id, &session.run_id);
        tx.record(&expired.with("reason", "its session is over"))?;
    }
    Ok(())
}
