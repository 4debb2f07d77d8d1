//! Why a message to a session waits, read from the store.

use crate::{
    actions::core::other_host,
    domain::{
        message::PromptWait,
        message::{Message, Recipient},
        rules::waiting,
    },
    env::Timestamp,
    store::{ReadTx, StoreError, sessions},
};

/// Why a message waits; `None` when it does not, or is not for one registered session.
pub fn find(tx: &ReadTx<'_>, message: &Message, now: Timestamp) -> Result<Option<PromptWait>, StoreError> {
    let Recipient::Session(id) = &message.to else { return Ok(None) };
    let Some(session) = sessions::find(tx, id)? else { return Ok(None) };
    let Some(mut wait) = waiting::of_message(message, &session, now) else { return Ok(None) };
    if let Some(host) = other_host::of_session(tx, &session)?
        && let Some((purpose, command)) = wait.hint.as_deref().and_then(|hint| hint.split_once(": "))
    {
        wait.hint = Some(format!("{purpose}: {}", host.from_here(command)));
    }
    Ok(Some(wait))
}
