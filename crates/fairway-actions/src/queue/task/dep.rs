//! Dependencies of a task: add, remove, show as a tree.

use std::collections::BTreeSet;

use anyhow::Result;

use super::validate;
use crate::core::lookup;
use crate::{Answer, App};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::task::{Task, TaskFields};
use fairway_core::domain::{Event, EventKind, TaskId};
use fairway_core::store::{WriteTx, tasks};
use fairway_core::wire::{DepNodeView, DepTreeView};

pub fn add(app: &App, id: &TaskId, on: &TaskId) -> Result<Answer> {
    app.mutate(|tx| {
        let task = load_editable(app, tx, id)?;
        if task.fields.depends_on.contains(on) {
            return answer(tx, id, format!("unchanged: {id} waits for {on} already"));
        }
        validate::check_dependency(tx, id, on)?;
        let mut fields = task.fields.clone();
        fields.depends_on.push(on.clone());
        write(tx, &task, &fields, EventKind::TaskDepAdded, on)?;
        answer(tx, id, format!("{id} waits for {on} now"))
    })
}

/// Removes a dependency. The task `on` need not exist.
pub fn rm(app: &App, id: &TaskId, on: &TaskId) -> Result<Answer> {
    app.mutate(|tx| {
        let task = load_editable(app, tx, id)?;
        if !task.fields.depends_on.contains(on) {
            return answer(tx, id, format!("unchanged: {id} does not wait for {on}"));
        }
        let mut fields = task.fields.clone();
        fields.depends_on.retain(|dependency| dependency != on);
        write(tx, &task, &fields, EventKind::TaskDepRemoved, on)?;
        answer(tx, id, format!("{id} waits for {on} no longer"))
    })
}

fn load_editable(app: &App, tx: &WriteTx<'_>, id: &TaskId) -> Result<Task> {
    let task = lookup::task(tx, id)?;
    lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
    Ok(task)
}

fn write(tx: &WriteTx<'_>, task: &Task, fields: &TaskFields, kind: EventKind, on: &TaskId) -> Result<()> {
    tasks::set_fields(tx, &task.id, fields)?;
    tx.record(&Event::new(kind).task(&task.id).lane(fields.lane.as_ref()).with("depends_on", on.as_str()))?;
    Ok(())
}

fn answer(tx: &WriteTx<'_>, id: &TaskId, line: String) -> Result<Answer> {
    Answer::new(&lookup::task_view(tx, id)?, id, line)
}

/// All dependencies of a task, depth first. A task that occurs again is listed without its own dependencies.
pub fn tree(app: &App, id: &TaskId) -> Result<DepTreeView> {
    app.read(|tx| {
        lookup::task(tx, id)?;
        let (mut nodes, mut seen) = (Vec::new(), BTreeSet::new());
        // Iterative: a long chain would overflow the stack.
        let mut open = vec![(id.clone(), 0)];
        while let Some((id, depth)) = open.pop() {
            let task = tasks::find(tx, &id)?;
            let repeated = !seen.insert(id.clone());
            if let Some(task) = task.as_ref().filter(|_| !repeated) {
                let mut below = task.fields.depends_on.clone();
                below.sort_by(|a, b| b.cmp(a));
                open.extend(below.into_iter().map(|on| (on, depth + 1)));
            }
            nodes.push(DepNodeView {
                task_id: id.to_string(),
                depth,
                status: task.as_ref().map(|task| task.state.status()),
                title: task.map(|task| task.fields.title),
                // A repeated leaf has no dependencies to leave out.
                repeated: repeated && !tasks::dependencies(tx, &id)?.is_empty(),
            });
        }
        Ok(DepTreeView { task_id: id.to_string(), nodes })
    })
}
