//! New evidence with its event.

use crate::{
    domain::{Event, EventKind, evidence::Evidence, session::Session, task::Task},
    store::{StoreError, WriteTx, evidence},
};

/// Adds evidence to a task, with its event. `of` is the session it is from, if that is not the acting one.
pub(crate) fn insert(
    tx: &WriteTx<'_>,
    task: &Task,
    record: Evidence,
    of: Option<&Session>,
) -> Result<Evidence, StoreError> {
    let record = evidence::insert(tx, record)?;
    let event = recorded_event(task, &record);
    tx.record(&match of {
        Some(session) => event.session(&session.id, &session.run_id),
        None => event,
    })?;
    Ok(record)
}

/// The event of new evidence.
pub(super) fn recorded_event(task: &Task, record: &Evidence) -> Event {
    Event::new(EventKind::EvidenceRecorded)
        .task(&task.id)
        .lane(task.fields.lane.as_ref())
        .with("id", record.id)
        .with("kind", record.kind.as_str())
        .with("result", record.result.as_str())
        .with("observed", record.observed)
        .with("check", record.check.as_deref())
        .with("exit_code", record.exit_code)
        .with("commit", record.commit.as_deref())
}
