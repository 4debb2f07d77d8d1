//! List checkpoints.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup},
    domain::{Refusal, TaskId, checkpoint::Checkpoint},
    store::checkpoints,
};

/// The checkpoints of a task, oldest first; with `written` those that an agent or a person wrote.
///
/// # Errors
/// `not_found`.
pub fn list(app: &App, task: &TaskId, written: bool) -> Result<Vec<Checkpoint>> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        let all = checkpoints::of_task(tx, task)?;
        Ok(all.into_iter().filter(|one| !written || one.origin.is_none()).collect())
    })
}

/// The newest checkpoint of a task; with `written` the newest that an agent or a person wrote.
///
/// # Errors
/// `not_found`, also if the task has none.
pub fn latest(app: &App, task: &TaskId, written: bool) -> Result<Checkpoint> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        let newest = if written { checkpoints::newest_written(tx, task)? } else { checkpoints::newest(tx, task)? };
        newest.ok_or_else(|| Refusal::not_found("checkpoint of task", task.as_str()).into())
    })
}

/// One checkpoint.
///
/// # Errors
/// `not_found`.
pub fn show(app: &App, id: i64) -> Result<Checkpoint> {
    let found = app.read(|tx| Ok(checkpoints::find(tx, id)?))?;
    found.ok_or_else(|| Refusal::not_found("checkpoint", id.to_string()).into())
}

/// The newest written checkpoints of open tasks whose next checkpoint is overdue, longest overdue first.
pub fn overdue(app: &App) -> Result<Vec<Checkpoint>> {
    app.read(|tx| Ok(checkpoints::overdue(tx, app.env.now())?))
}
