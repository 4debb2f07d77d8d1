//! Whether the caller may start sessions: a person, or a session of a role that the configuration names.

use anyhow::Result;

use super::inside;
use crate::{actions::App, domain::Refusal, store::sessions};

/// Refuses a session whose role is not in `[sessions] may_start`.
///
/// # Errors
/// `inside_session`; as the store fails.
pub fn check(app: &App, command: &'static str) -> Result<()> {
    let Some(id) = &app.actor.session else { return inside::require_person(app, command) };
    let session = app.read(|tx| Ok(sessions::find(tx, id)?))?;
    if session.is_some_and(|session| app.settings.may_start.contains(&session.role)) {
        return Ok(());
    }
    Err(Refusal::InsideSession { command }.into())
}
