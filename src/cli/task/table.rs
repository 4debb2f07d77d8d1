//! Tasks as a table.

use std::fmt::Write as _;

use crate::{
    cli::age::age,
    env::Timestamp,
    render::{Table, escape_line},
    wire::{ClaimantView, TaskView},
};

/// A table of tasks, one row each.
pub(in crate::cli) fn table(tasks: &[TaskView]) -> Table {
    let mut table = Table::new(&["id", "p", "status", "role", "lane", "held by", "title"]);
    for task in tasks {
        let claimant = claimant(task);
        let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        table.row([
            task.id.clone(),
            task.priority.to_string(),
            task.status.to_owned(),
            dash(task.role.as_deref()),
            dash(task.lane.as_deref()),
            dash(claimant.as_deref()),
            task.title.clone(),
        ]);
    }
    table
}

/// The claimant, with a mark when its session is dead or stale.
pub(in crate::cli) fn claimant(task: &TaskView) -> Option<String> {
    let claimant = &task.claim.as_ref()?.claimant;
    let mark = task.claimant.as_ref().and_then(ClaimantView::mark);
    Some(mark.map_or_else(|| claimant.clone(), |mark| format!("{claimant} ({mark})")))
}

/// The ways on for tasks whose claimant is dead or stale: a line about each, and its commands below it. Empty when there is
/// none. Safe for a terminal.
pub(in crate::cli) fn ways_on(tasks: &[TaskView], now: Timestamp) -> String {
    let mut text = String::new();
    for task in tasks {
        let Some((claim, claimant)) = task.claim.as_ref().zip(task.claimant.as_ref()) else { continue };
        let Some(trouble) = claimant.trouble() else { continue };
        let seen = age(&claimant.seen_at, now);
        let line = format!("{}: {} {trouble}, last seen {seen} ago", task.id, claim.claimant);
        let _ = writeln!(text, "{}", escape_line(&line));
        for next in &claimant.commands {
            let _ = writeln!(text, "  {}: {}", escape_line(&next.purpose), escape_line(&next.command));
        }
    }
    text
}
