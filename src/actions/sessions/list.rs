//! Listing and showing sessions.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup},
    domain::{SessionId, session::Session},
    store::sessions,
    wire::SessionView,
};

/// The sessions that are not final, or with `all` every session; oldest first.
///
/// # Errors
/// As the store fails.
pub fn list(app: &App, all: bool) -> Result<Vec<SessionView>> {
    app.read(|tx| {
        let found = if all { sessions::all(tx)? } else { sessions::live(tx)? };
        Ok(found.iter().map(SessionView::from).collect())
    })
}

/// One session.
///
/// # Errors
/// `not_found`.
pub fn show(app: &App, id: &SessionId) -> Result<Session> {
    app.read(|tx| lookup::session(tx, id))
}
