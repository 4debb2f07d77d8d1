//! Typing a text into a session and submitting it.

use anyhow::Result;

use super::running_session;
use crate::{
    actions::{Answer, App},
    domain::{EventKind, Refusal, SessionId, text_limits::MAX_BODY_BYTES},
};

/// Types a text verbatim and submits it. The log records its size, never the text.
///
/// # Errors
/// `invalid_value` for an empty or too long text; `session_final`, `session_gone`, `session_mismatch`; `adapter_failed` and
/// its like.
pub fn nudge(app: &App, id: &SessionId, text: &[u8]) -> Result<Answer> {
    if text.is_empty() {
        return Err(Refusal::invalid("text", "must not be empty").into());
    }
    if text.len() > MAX_BODY_BYTES {
        let why = format!("is longer than {MAX_BODY_BYTES} bytes; write it to a file and send the path");
        return Err(Refusal::invalid("text", why).into());
    }
    let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
    running_session::run_idempotent(
        app,
        id,
        |live| Ok(live.adapter.nudge(live.backend_name(), text)?),
        |live| Some(live.event(EventKind::SessionNudged).with("bytes", size)),
        format!("nudged {id} with {size} bytes"),
    )
}
