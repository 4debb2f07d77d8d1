//! The immediate check of one session whose process was seen to exit, as `session reconcile` would check it.

use std::time::Duration;

use anyhow::Result;

use super::apply::{apply, is_exit_observed};
use super::backend_probe::BackendProber;
use super::facts;
use crate::App;
use crate::core::lookup;
use fairway_core::domain::SessionId;
use fairway_core::domain::session::SessionStatus;
use fairway_core::os::poll_until;

/// How long the exit may take to become visible: the pane closes, and the supervisor records the end.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits at most 3 s until the exit of a session is observed, marks the session as stale, and records a checkpoint on its task.
/// Returns whether the session is then stale or final. When no exit is observed, the session stays unchanged. Calls the session's
/// adapter: never inside a transaction.
///
/// # Errors
/// `not_found`.
pub fn mark_if_exited(app: &App, id: &SessionId) -> Result<bool> {
    poll_until::poll_until(EXIT_TIMEOUT, POLL_INTERVAL, || {
        check_once(app, id).map(|is_over| is_over.then_some(true)).transpose()
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
