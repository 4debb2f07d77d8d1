//! The events of a run.

use crate::domain::{Event, EventKind, job::Job};

/// An event about a run, under the key that its messages wait for; says which run, and nothing of what it printed.
#[must_use]
pub fn for_job(kind: EventKind, run: &Job) -> Event {
    let event = Event { session: run.session.clone(), run_id: Some(run.id.to_string()), ..Event::new(kind) };
    event.with("run", run.id.to_string()).with("attempt", run.attempt)
}
