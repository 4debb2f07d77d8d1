//! Removes tasks that were added by mistake.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::core::lookup;
use crate::{Answer, App};
use fairway_core::domain::task::Task;
use fairway_core::domain::{Event, EventKind, Refusal, TaskId, plural};
use fairway_core::store::WriteTx;
use fairway_core::store::removed_tasks::{self, TaskUses};
use fairway_core::wire::RemovedTasksView;

/// Removes tasks, all or none. A task that was ever claimed, or to which a record or another task refers, stays. Tasks
/// that are removed together may refer to each other.
///
/// # Errors
/// `in_use`.
pub fn remove(app: &App, ids: &[TaskId]) -> Result<Answer> {
    let ids: BTreeSet<&TaskId> = ids.iter().collect();
    app.mutate(|tx| {
        let mut removed = Vec::new();
        for id in &ids {
            let task = lookup::task(tx, id)?;
            check_unused(tx, &task, &ids)?;
            removed.push((lookup::task_view(tx, id)?, task));
        }
        for (_, task) in &removed {
            removed_tasks::remove(tx, &task.id)?;
            tx.record(
                &Event::new(EventKind::TaskRemoved)
                    .task(&task.id)
                    .lane(task.fields.lane.as_ref())
                    .with("title", task.fields.title.as_str())
                    .with("status", task.state.status().as_str()),
            )?;
        }
        let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let document = RemovedTasksView { removed: removed.into_iter().map(|(view, _)| view).collect() };
        let mut answer = Answer::new(&document, "", format!("removed {}", names.join(", ")))?;
        answer.ids = names;
        Ok(answer)
    })
}

fn check_unused(tx: &WriteTx<'_>, task: &Task, removed: &BTreeSet<&TaskId>) -> Result<()> {
    let uses = removed_tasks::uses(tx, &task.id)?;
    let by = describe(&uses, removed);
    if by.is_empty() {
        return Ok(());
    }
    let is_open = !task.state.status().is_closed();
    Err(Refusal::TaskInUse { task: task.id.clone(), by: by.join("; "), is_open }.into())
}

fn describe(uses: &TaskUses, removed: &BTreeSet<&TaskId>) -> Vec<String> {
    let others = |tasks: &[TaskId]| -> Vec<String> {
        tasks.iter().filter(|id| !removed.contains(id)).map(ToString::to_string).collect()
    };
    let mut by = Vec::new();
    let records: Vec<String> = uses.records.iter().map(|(noun, count)| plural::count(*count, noun)).collect();
    if !records.is_empty() {
        by.push(format!("it has {}", records.join(", ")));
    }
    let (dependents, children) = (others(&uses.dependents), others(&uses.children));
    match dependents.as_slice() {
        [] => {}
        [one] => by.push(format!("{one} depends on it")),
        several => by.push(format!("{} depend on it", several.join(", "))),
    }
    match children.as_slice() {
        [] => {}
        [one] => by.push(format!("{one} is a part of it")),
        several => by.push(format!("{} are parts of it", several.join(", "))),
    }
    by
}
