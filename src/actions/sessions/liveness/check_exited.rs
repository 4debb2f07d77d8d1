//! A session whose process somebody saw end: it is looked at alone, at once, as `session reconcile` would look at it.

use std::time::Duration;

use anyhow::Result;

use super::{
    apply::{apply, is_exit_observed},
    backend_probe::BackendProber,
    facts,
};
use crate::{
    actions::{App, core::lookup},
    domain::{SessionId, session::SessionStatus},
    os::poll_until,
};

/// How long its surroundings are given to notice: a pane closes, and what started the program records its end.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Marks a session as stale if what can be seen of it says so, and leaves word on its task. Says whether it is stale or final
/// afterwards; one that cannot be told is left alone.
///
/// Calls the session's adapter: never inside a transaction.
///
/// # Errors
/// `not_found`; as the store fails.
pub fn mark_if_exited(app: &App, id: &SessionId) -> Result<bool> {
    poll_until::poll_until(EXIT_TIMEOUT, POLL_INTERVAL, || {
        check_once(app, id).map(|over| over.then_some(true)).transpose()
    })
    .unwrap_or(Ok(false))
}

fn check_once(app: &App, id: &SessionId) -> Result<bool> {
    let session = app.read(|tx| lookup::session(tx, id))?;
    if session.status == SessionStatus::Stale || session.status.is_final() {
        return Ok(true);
    }
    let now = app.env.now();
    let process = facts::process_state(&session);
    let backend = BackendProber::new().probe(app, &session, &process, now);
    let verdict = facts::assess(app, &session, &process, &backend, now);
    if !is_exit_observed(&session, &verdict) {
        return Ok(false);
    }
    app.transaction(|tx| apply(tx, &session, &verdict))
}
