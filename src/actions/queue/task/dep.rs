//! What must be done before a task.

use std::collections::BTreeSet;

use anyhow::Result;

use super::validate;
use crate::{
    actions::{Answer, App, core::lookup},
    domain::{
        Event, EventKind, TaskId,
        rules::fencing::TaskWrite,
        task::{Task, TaskFields},
    },
    store::{WriteTx, tasks},
    wire::{DepNodeView, DepTreeView},
};

/// Makes a task wait for another.
///
/// # Errors
/// `not_found`, `cycle` naming the circle, `stale_claim`.
pub fn add(app: &App, id: &TaskId, on: &TaskId) -> Result<Answer> {
    app.mutate(|tx| {
        let task = load_editable(app, tx, id)?;
        if task.fields.depends_on.contains(on) {
            return answer(tx, id, format!("unchanged: {id} waits for {on} already"));
        }
        validate::check_dependency(tx, id, on)?;
        let mut words = task.fields.clone();
        words.depends_on.push(on.clone());
        write(tx, &task, &words, EventKind::TaskDepAdded, on)?;
        answer(tx, id, format!("{id} waits for {on} now"))
    })
}

/// Lets a task wait for another no longer, also for one that is not here.
///
/// # Errors
/// `not_found`, `stale_claim`.
pub fn rm(app: &App, id: &TaskId, on: &TaskId) -> Result<Answer> {
    app.mutate(|tx| {
        let task = load_editable(app, tx, id)?;
        if !task.fields.depends_on.contains(on) {
            return answer(tx, id, format!("unchanged: {id} does not wait for {on}"));
        }
        let mut words = task.fields.clone();
        words.depends_on.retain(|one| one != on);
        write(tx, &task, &words, EventKind::TaskDepRemoved, on)?;
        answer(tx, id, format!("{id} waits for {on} no longer"))
    })
}

fn load_editable(app: &App, tx: &WriteTx<'_>, id: &TaskId) -> Result<Task> {
    let task = lookup::task(tx, id)?;
    lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
    Ok(task)
}

fn write(tx: &WriteTx<'_>, task: &Task, words: &TaskFields, kind: EventKind, on: &TaskId) -> Result<()> {
    tasks::set_fields(tx, &task.id, words)?;
    tx.record(&Event::new(kind).task(&task.id).lane(words.lane.as_ref()).with("depends_on", on.as_str()))?;
    Ok(())
}

fn answer(tx: &WriteTx<'_>, id: &TaskId, line: String) -> Result<Answer> {
    Answer::new(&lookup::task_view(tx, id)?, id, line)
}

/// Everything that a task waits for, in the order of a walk; what is met again is not entered again.
///
/// # Errors
/// `not_found`.
pub fn tree(app: &App, id: &TaskId) -> Result<DepTreeView> {
    app.read(|tx| {
        lookup::task(tx, id)?;
        let (mut nodes, mut seen) = (Vec::new(), BTreeSet::new());
        // A list, not recursion, so that a long chain does not end the stack.
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
                status: task.as_ref().map(|task| task.state.status().as_str()),
                title: task.map(|task| task.fields.title),
                // A leaf that is met again hides nothing.
                repeated: repeated && !tasks::dependencies(tx, &id)?.is_empty(),
            });
        }
        Ok(DepTreeView { task_id: id.to_string(), nodes })
    })
}
