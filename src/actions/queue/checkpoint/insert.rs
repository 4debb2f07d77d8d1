//! A new checkpoint with its event.

use crate::{
    domain::{Event, EventKind, checkpoint::Checkpoint, session::Session, task::Task},
    store::{StoreError, WriteTx, checkpoints, checkpoints::CheckpointFields},
};

/// Adds a checkpoint to a task, with its event. `of` is the session it is about, if that is not the acting one.
pub(crate) fn insert(
    tx: &WriteTx<'_>,
    task: &Task,
    draft: &CheckpointFields,
    of: Option<&Session>,
) -> Result<Checkpoint, StoreError> {
    let checkpoint = checkpoints::insert(tx, draft)?;
    let event = Event::new(EventKind::CheckpointRecorded)
        .task(&task.id)
        .lane(task.fields.lane.as_ref())
        .with("id", checkpoint.id)
        .with("state", checkpoint.state.as_str())
        .with("summary", checkpoint.summary.as_str());
    let event = match checkpoint.origin {
        Some(origin) => event.with("origin", origin.as_str()),
        None => event,
    };
    tx.record(&match of {
        Some(session) => event.session(&session.id, &session.run_id),
        None => event,
    })?;
    Ok(checkpoint)
}
