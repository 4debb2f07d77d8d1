//! Tasks as a table.

use std::fmt::Write as _;

use crate::cli::age::age;
use fairway_core::domain::task::TaskSummary;
use fairway_core::domain::{LaneName, Role};
use fairway_core::env::Timestamp;
use fairway_core::render::{Table, escape_line};
use fairway_core::wire::{ClaimantView, TaskView};

/// A row of the table.
pub(in crate::cli) struct Row<'a> {
    id: &'a str,
    priority: u8,
    status: &'static str,
    role: Option<&'a str>,
    lane: Option<&'a str>,
    claimant: Option<String>,
    title: &'a str,
}

impl<'a> From<&'a TaskView> for Row<'a> {
    fn from(task: &'a TaskView) -> Self {
        Self {
            id: &task.id,
            priority: task.priority,
            status: task.status.as_str(),
            role: task.role.as_deref(),
            lane: task.lane.as_deref(),
            claimant: claimant(task),
            title: &task.title,
        }
    }
}

impl<'a> From<&'a TaskSummary> for Row<'a> {
    fn from(task: &'a TaskSummary) -> Self {
        Self {
            id: task.id.as_str(),
            priority: task.priority,
            status: task.status.as_str(),
            role: task.role.as_ref().map(Role::as_str),
            lane: task.lane.as_ref().map(LaneName::as_str),
            claimant: None,
            title: &task.title,
        }
    }
}

pub(in crate::cli) fn table<'a, T>(tasks: &'a [T]) -> Table
where
    Row<'a>: From<&'a T>,
{
    let mut table = Table::new(&["id", "p", "status", "role", "lane", "held by", "title"]);
    for Row { id, priority, status, role, lane, claimant, title } in tasks.iter().map(Row::from) {
        let priority = priority.to_string();
        let [role, lane, claimant] = [role, lane, claimant.as_deref()].map(|text| text.unwrap_or("-"));
        table.row([id, &priority, status, role, lane, claimant, title]);
    }
    table
}

/// The claimant's name, followed by a mark such as `(dead)` when its session is dead or stale. `None` for an unclaimed task.
pub(in crate::cli) fn claimant(task: &TaskView) -> Option<String> {
    let claimant = &task.claim.as_ref()?.claimant;
    let mark = task.claimant.as_ref().and_then(ClaimantView::mark);
    Some(mark.map_or_else(|| claimant.clone(), |mark| format!("{claimant} ({mark})")))
}

/// Lists what to do about tasks whose claimant is dead or stale: a line about each, and its commands below it. Empty when there
/// is no such task. The text is escaped for a terminal.
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
