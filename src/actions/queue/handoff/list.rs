//! List handoffs.

use anyhow::Result;

use crate::{
    actions::{App, core::lookup},
    domain::{Role, TaskId, handoff::Handoff, handoff::HandoffStatus},
    store::handoffs,
};

/// The filter of a listing.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only handoffs to this role.
    pub to_role: Option<Role>,
    /// Only handoffs of this task.
    pub task: Option<TaskId>,
    /// Only open handoffs.
    pub open: bool,
}

/// The matching handoffs, oldest first.
///
/// # Errors
/// `not_found` for an unknown task.
pub fn list(app: &App, filter: &Filter) -> Result<Vec<Handoff>> {
    app.read(|tx| {
        let found = match &filter.task {
            Some(task) => {
                lookup::task(tx, task)?;
                handoffs::of_task(tx, task)?
            }
            None => handoffs::all(tx, filter.open)?,
        };
        Ok(found
            .into_iter()
            .filter(|handoff| !filter.open || handoff.status == HandoffStatus::Open)
            .filter(|handoff| filter.to_role.is_none() || handoff.to_role == filter.to_role)
            .collect())
    })
}
