//! Tasks as a table.

use crate::{render::Table, wire::TaskView};

/// A table of tasks, one row each.
pub(in crate::cli) fn table(tasks: &[TaskView]) -> Table {
    let mut table = Table::new(&["id", "p", "status", "role", "lane", "held by", "title"]);
    for task in tasks {
        let claimant = task.claim.as_ref().map(|claim| claim.claimant.as_str());
        let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        table.row([
            task.id.clone(),
            task.priority.to_string(),
            task.status.to_owned(),
            dash(task.role.as_deref()),
            dash(task.lane.as_deref()),
            dash(claimant),
            task.title.clone(),
        ]);
    }
    table
}
