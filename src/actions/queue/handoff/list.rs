//! Looking at handoffs.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup},
    domain::{Role, TaskId, handoff::HandoffStatus},
    store::handoffs,
    wire::HandoffView,
};

/// What a listing shows.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those to this role.
    pub to_role: Option<Role>,
    /// Only this task's.
    pub task: Option<TaskId>,
    /// Only those that nobody has answered.
    pub open: bool,
}

/// The handoffs that a filter keeps, oldest first.
///
/// # Errors
/// `not_found` for an unknown task.
pub fn list(app: &App, filter: &Filter) -> Result<Vec<HandoffView>> {
    app.read(|tx| {
        let found = match &filter.task {
            Some(task) => {
                lookup::task(tx, task)?;
                handoffs::of_task(tx, task)?
            }
            None => handoffs::all(tx, filter.open)?,
        };
        Ok(found
            .iter()
            .filter(|handoff| !filter.open || handoff.status == HandoffStatus::Open)
            .filter(|handoff| filter.to_role.is_none() || handoff.to_role == filter.to_role)
            .map(HandoffView::from)
            .collect())
    })
}
