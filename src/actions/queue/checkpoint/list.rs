//! List checkpoints.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup},
    domain::{Refusal, TaskId},
    store::checkpoints,
    wire::CheckpointView,
};

/// Every checkpoint of a task, oldest first.
///
/// # Errors
/// `not_found`.
pub fn list(app: &App, task: &TaskId) -> Result<Vec<CheckpointView>> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        Ok(checkpoints::of_task(tx, task)?.iter().map(CheckpointView::from).collect())
    })
}

/// The newest checkpoint of a task.
///
/// # Errors
/// `not_found`, also if the task has none.
pub fn latest(app: &App, task: &TaskId) -> Result<CheckpointView> {
    app.read(|tx| {
        lookup::task(tx, task)?;
        let newest = checkpoints::newest(tx, task)?;
        newest
            .as_ref()
            .map(CheckpointView::from)
            .ok_or_else(|| Refusal::not_found("checkpoint of task", task.as_str()).into())
    })
}

/// The newest checkpoints of open tasks whose next checkpoint is overdue, longest overdue first.
///
/// # Errors
/// As the store fails.
pub fn overdue(app: &App) -> Result<Vec<CheckpointView>> {
    app.read(|tx| Ok(checkpoints::overdue(tx, app.env.now())?.iter().map(CheckpointView::from).collect()))
}
