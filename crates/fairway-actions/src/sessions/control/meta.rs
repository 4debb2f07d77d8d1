//! Metadata that a session's backend stores for as long as the session lives. The store has no copy.

use anyhow::Result;

use super::running_session::{self, RunningSession, unsupported_note};
use crate::{Answer, App};
use fairway_core::domain::text_limits::MAX_BODY_BYTES;
use fairway_core::domain::{Refusal, SessionId};

/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 256;

fn check_key(key: &str) -> Result<(), Refusal> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES || key.contains(char::is_control) {
        return Err(Refusal::invalid("key", format!("must be 1 to {MAX_KEY_BYTES} bytes without control characters")));
    }
    Ok(())
}

/// Returns the value of a key exactly as the backend stores it, with trailing newlines; empty when the key is unset. The
/// variables of the session's start environment are keys, too. The second part is a note when the backend script does not
/// support metadata; the value is then empty.
///
/// # Errors
/// `invalid_value`, `session_final`, `session_gone`, `session_mismatch`; the `adapter_` codes.
pub fn get(app: &App, id: &SessionId, key: &str) -> Result<(Vec<u8>, Option<String>)> {
    check_key(key)?;
    let live = RunningSession::find(app, id, &["session", "meta", "get", id.as_str(), key])?;
    match live.adapter.get_meta(live.backend_name(), key).map_err(anyhow::Error::from) {
        Ok(value) => Ok((value, None)),
        Err(error) => unsupported_note(&error, id).map(|note| (Vec::new(), Some(note))).ok_or(error),
    }
}

pub fn set(app: &App, id: &SessionId, key: &str, value: &[u8]) -> Result<Answer> {
    check_key(key)?;
    if value.len() > MAX_BODY_BYTES {
        return Err(Refusal::invalid("value", format!("is longer than {MAX_BODY_BYTES} bytes")).into());
    }
    let line = format!("set {key} of {id}");
    running_session::run_idempotent(
        app,
        id,
        &["session", "meta", "set", id.as_str(), key, "VALUE"],
        |live| Ok(live.adapter.set_meta(live.backend_name(), key, value)?),
        |_| None,
        line,
    )
}

/// Removes the value of a key; a missing key is no error.
pub fn remove(app: &App, id: &SessionId, key: &str) -> Result<Answer> {
    check_key(key)?;
    let line = format!("removed {key} of {id}");
    running_session::run_idempotent(
        app,
        id,
        &["session", "meta", "rm", id.as_str(), key],
        |live| Ok(live.adapter.remove_meta(live.backend_name(), key)?),
        |_| None,
        line,
    )
}
