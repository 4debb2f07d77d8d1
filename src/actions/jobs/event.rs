//! The events of a run.

use crate::domain::{Event, EventKind, job::Job};

/// An event about a run, under the key that its messages wait for; says which run, and nothing of what it printed.
#[must_use]
pub fn for_job(kind: EventKind, job: &Job) -> Event {
    let event = Event { session: job.session.clone(), run_id: Some(job.id.to_string()), ..Event::new(kind) };
    event.with("run", job.id.to_string()).with("attempt", job.attempt)
}
