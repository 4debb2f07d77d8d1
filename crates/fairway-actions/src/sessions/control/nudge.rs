//! Typing a text into a session and submitting it.

use anyhow::Result;

use super::{question, running_session};
use crate::{Answer, App};
use fairway_core::domain::text_limits::MAX_BODY_BYTES;
use fairway_core::domain::{EventKind, Refusal, SessionId};

/// Types a text verbatim into a session's terminal and submits it. The event log records its size, never the text. Without
/// `force` it is refused while the session asks a question.
///
/// # Errors
/// `invalid_value` for an empty or too long text; `session_final`, `session_gone`, `session_mismatch`, `session_asks`; the
/// `adapter_` codes.
pub fn nudge(app: &App, id: &SessionId, text: &[u8], force: bool) -> Result<Answer> {
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
        &["session", "nudge", id.as_str(), "TEXT"],
        |live| {
            if force {
                return Ok(live.adapter.nudge(live.backend_name(), text)?);
            }
            question::type_unless_asked(app, live, text)
        },
        |live| Some(live.event(EventKind::SessionNudged).with("bytes", size)),
        format!("nudged {id} with {size} bytes"),
    )
}
