//! Event log entries about a job.

use crate::domain::{Event, EventKind, job::Job};

/// An event about a job, for the session that its notifications go to. It names the job and its attempt, and holds none of
/// its output.
#[must_use]
pub fn for_job(kind: EventKind, job: &Job) -> Event {
    let event = Event { session: job.session.clone(), run_id: Some(job.id.to_string()), ..Event::new(kind) };
    event.with("run", job.id.to_string()).with("attempt", job.attempt)
}
