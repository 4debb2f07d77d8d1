//! Facts about a session, gathered outside of any transaction.

use crate::App;
pub use crate::core::session_process::process_state;
use fairway_core::adapters::tmux_panes;
use fairway_core::domain::rules::staleness::{self, BackendObservation, Liveness, LivenessFacts, ProcessObservation};
use fairway_core::domain::session::Session;
use fairway_core::env::Timestamp;
use fairway_core::os::host;

/// Judges the liveness of a session by its process and the answer of its backend. For a session of another host both are
/// ignored.
pub fn assess(
    app: &App,
    session: &Session,
    process: &ProcessObservation,
    backend: &BackendObservation,
    now: Timestamp,
) -> Liveness {
    let is_local = host::identity().owns(&session.host, session.host_id.as_deref());
    let (process, backend) = if is_local {
        (process, backend)
    } else {
        (&ProcessObservation::NotRecorded, &BackendObservation::NotRecorded)
    };
    let facts = LivenessFacts {
        session,
        is_local,
        process,
        backend,
        launch_timeout: app.settings.sessions.launch_timeout,
        stale_after: app.settings.sessions.stale_after,
    };
    staleness::assess(&facts, now)
}

/// The observation for a backend that was not queried: [`BackendObservation::NotRecorded`] when the session has neither a
/// backend script nor a tmux pane, otherwise [`BackendObservation::Unknown`].
pub fn unprobed_backend(session: &Session) -> BackendObservation {
    let is_tmux_pane = session.pane.is_some() && session.backend.as_deref() == Some(tmux_panes::BACKEND);
    if !is_tmux_pane && session.adapter_script.is_none() {
        return BackendObservation::NotRecorded;
    }
    let name = session.backend.as_deref().unwrap_or("the backend");
    BackendObservation::Unknown(format!("{name} was not queried"))
}
