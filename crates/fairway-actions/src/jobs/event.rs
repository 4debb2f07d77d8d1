//! Event log entries about a job.

use anyhow::Result;

use fairway_core::domain::job::Job;
use fairway_core::domain::session::Session;
use fairway_core::domain::{Event, EventKind, RoutingKey};
use fairway_core::store::{ReadTx, sessions};

/// An event about a job, for the session that its notifications go to. It names the job and its attempt, and holds none of its
/// output. The store adds the session run.
pub fn for_job(kind: EventKind, job: &Job) -> Event {
    let session = job.session.as_ref().and_then(RoutingKey::session_id);
    let key = job.session.as_ref().filter(|_| session.is_none());
    let id = job.id.to_string();
    let event = Event { session, ..Event::new(kind) };
    let event = event.with("run", id.clone()).with("exec_run_id", id).with("attempt", job.attempt);
    match key {
        Some(key) => event.with("session_key", key.to_string()),
        None => event,
    }
}

/// The session that gets a job's notifications; `None` when no session gets them, and when the session is not registered.
pub fn session_of(tx: &ReadTx<'_>, job: &Job) -> Result<Option<Session>> {
    let id = job.session.as_ref().and_then(RoutingKey::session_id);
    Ok(id.map(|id| sessions::find(tx, &id)).transpose()?.flatten())
}
