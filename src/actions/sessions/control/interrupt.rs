//! Interrupting a session.

use anyhow::Result;

use super::running_session;
use crate::{
    actions::{Answer, App},
    domain::{EventKind, SessionId},
};

/// Interrupts a session's program, as Ctrl-C would. The program may ignore that.
///
/// # Errors
/// `session_final`, `session_gone`, `session_mismatch`; `adapter_failed` and its like.
pub fn interrupt(app: &App, id: &SessionId) -> Result<Answer> {
    running_session::run_idempotent(
        app,
        id,
        |live| Ok(live.adapter.interrupt(live.backend_name())?),
        |live| Some(live.event(EventKind::SessionInterrupted)),
        format!("interrupted {id}"),
    )
}
