//! Finding a session by its session run.

use anyhow::Result;

use crate::{
    domain::{Refusal, session::Session},
    store::{ReadTx, sessions},
};

/// A run id in the usual spelling of a UUID. Other text is returned unchanged; it is no id that Fairway has made.
#[must_use]
pub fn normalize_run_id(run_id: &str) -> String {
    uuid::Uuid::parse_str(run_id).map_or_else(|_| run_id.to_owned(), |run| run.to_string())
}

/// The session of a run, final or not.
///
/// # Errors
/// `not_found`; as the store fails.
pub fn session_of_run(tx: &ReadTx<'_>, run_id: &str) -> Result<Session> {
    match sessions::by_run_id(tx, &normalize_run_id(run_id))? {
        Some(session) => Ok(session),
        None => Err(unknown_run(run_id)),
    }
}

/// The error for a run id that no session has.
#[must_use]
pub(in crate::actions) fn unknown_run(run_id: &str) -> anyhow::Error {
    // It may be anything; its beginning is enough.
    let id: String = run_id.chars().take(64).collect();
    Refusal::not_found("session with the run", id).into()
}
