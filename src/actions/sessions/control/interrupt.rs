//! Interrupting a session.

use anyhow::Result;

use super::running_session;
use crate::{
    actions::{Answer, App},
    domain::{EventKind, SessionId, message::Recipient},
    store::messages,
};

/// Interrupts a session's program, as Ctrl-C would. The program may ignore that.
///
/// # Errors
/// `session_final`, `session_gone`, `session_mismatch`; `adapter_failed` and its like.
pub fn interrupt(app: &App, id: &SessionId) -> Result<Answer> {
    let answer = running_session::run_idempotent(
        app,
        id,
        |live| Ok(live.adapter.interrupt(live.backend_name())?),
        |live| Some(live.event(EventKind::SessionInterrupted)),
        format!("interrupted {id}"),
    )?;
    let waiting = app.read(|tx| Ok(messages::open_for(tx, &Recipient::Session(id.clone()))?.len()))?;
    Ok(match waiting {
        0 => answer,
        1 => answer.note(format!("1 prompt waits for {id}; it expires if the program ends: fairway outbox --to {id}")),
        several => answer.note(format!(
            "{several} prompts wait for {id}; they expire if the program ends: fairway outbox --to {id}"
        )),
    })
}
