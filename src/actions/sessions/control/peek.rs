//! The screen of a session, and after its end the tail of its transcript.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use crate::actions::sessions::adapter_endpoint;
use crate::{
    actions::{App, core::lookup},
    adapters::{AdapterError, plumbing::transcript},
    domain::{SessionId, secrets},
};

/// The last lines of a session, with what looks like a secret masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Peek {
    /// The session.
    pub session_id: String,
    /// The source of the lines: `backend` or `transcript`.
    pub source: &'static str,
    /// The lines.
    pub text: String,
}

/// The last `lines` of a session; 0 means all.
///
/// # Errors
/// `not_found`, `session_mismatch`; `adapter_failed` and its like.
pub fn peek(app: &App, id: &SessionId, lines: u32) -> Result<Peek> {
    let session = app.read(|tx| lookup::session(tx, id))?;
    if !session.status.is_final() {
        let adapter = adapter_endpoint::adapter(app, &session)?;
        let is_other_run = adapter_endpoint::belongs_to_other(&adapter, &session);
        match (!is_other_run).then(|| adapter.peek(adapter_endpoint::backend_name(&session), lines)).transpose() {
            // The backend shows nothing for a session that has exited.
            Ok(Some(text)) if text.is_empty() => {}
            Ok(Some(text)) => {
                return Ok(Peek { session_id: id.to_string(), source: "backend", text: secrets::mask(&text) });
            }
            Ok(None) | Err(AdapterError::Unsupported { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    let text = match &session.transcript {
        Some(path) => transcript::tail(Path::new(path), lines)?,
        None => String::new(),
    };
    Ok(Peek { session_id: id.to_string(), source: "transcript", text: secrets::mask(&text) })
}
