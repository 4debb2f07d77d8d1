//! Why a message to a session waits, read from the store.

use crate::{
    domain::{
        message::{Message, Recipient},
        prompt_wait::PromptWait,
        rules::waiting,
    },
    env::Timestamp,
    store::{ReadTx, StoreError, sessions},
};

/// Why a message waits; `None` when it does not, or is not for one registered session.
pub fn find(tx: &ReadTx<'_>, message: &Message, now: Timestamp) -> Result<Option<PromptWait>, StoreError> {
    let Recipient::Session(id) = &message.to else { return Ok(None) };
    let Some(session) = sessions::find(tx, id)? else { return Ok(None) };
    Ok(waiting::of_message(message, &session, now))
}
