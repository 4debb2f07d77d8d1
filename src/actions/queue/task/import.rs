//! Import tasks from a file, all or none.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use anyhow::Result;

use super::import_record::{self, BLOCKS, ImportedTask, PARENT};
use crate::{
    actions::{Answer, App},
    domain::{Event, EventKind, Refusal, TaskId, rules::cycle},
    store::{ReadTx, lanes, tasks},
    wire::import::{IgnoredFieldView, ImportFormat, ImportReport, MissingDependencyView, parse},
};

/// The maximum number of notes; the JSON document has all details.
const MAX_NOTES: usize = 10;

/// Imports the tasks of a file. Existing tasks stay unchanged.
///
/// # Errors
/// `invalid_line` naming the line; `not_found` for unknown lanes; `cycle`.
pub fn import(app: &App, text: &str, form: Option<ImportFormat>) -> Result<Answer> {
    let placed = parse(text, form).map_err(|broken| Refusal::Line { line: broken.line, why: broken.why })?;
    let mut deleted = Vec::new();
    let mut incoming: BTreeMap<TaskId, ImportedTask> = BTreeMap::new();
    let mut order = Vec::new();
    for one in placed {
        let Some(one) = import_record::read(one.line, one.record, app.env.now(), &mut deleted)? else { continue };
        let id = one.task.id.clone();
        if let Some(earlier) = incoming.get(&id) {
            let why = format!("{id} is on line {} already", earlier.line);
            return Err(Refusal::Line { line: one.line, why }.into());
        }
        order.push(id.clone());
        incoming.insert(id, one);
    }
    app.mutate(|tx| {
        let mut unchanged = 0;
        let mut fresh = Vec::new();
        for id in &order {
            if tasks::exists(tx, id)? {
                unchanged += 1;
                incoming.remove(id);
            } else {
                fresh.push(id.clone());
            }
        }
        check_lanes(tx, incoming.values())?;
        check_cycles(tx, &fresh, &incoming)?;
        let mut absent = Vec::new();
        let mut ignored = deleted;
        for id in &fresh {
            let Some(one) = incoming.get(id) else { continue };
            absent.extend(absent_links(tx, one, &incoming)?);
            ignored.extend(one.ignored.iter().cloned());
            tasks::insert(tx, &one.task)?;
            tx.record(
                &Event::new(EventKind::TaskImported)
                    .task(id)
                    .lane(one.task.fields.lane.as_ref())
                    .with("title", one.task.fields.title.as_str())
                    .with("priority", i64::from(one.task.fields.priority))
                    .with("status", one.task.state.status().as_str())
                    .with("was", one.original_status.as_str())
                    .with("close_reason", one.close_reason.as_deref()),
            )?;
        }
        let report = ImportReport { imported: fresh.len(), unchanged, absent, ignored };
        answer(&report, &fresh)
    })
}

fn check_lanes<'a>(tx: &ReadTx<'_>, incoming: impl Iterator<Item = &'a ImportedTask>) -> Result<()> {
    let mut missing = BTreeSet::new();
    for lane in incoming.filter_map(|one| one.task.fields.lane.as_ref()) {
        if !missing.contains(lane) && lanes::find(tx, lane)?.is_none() {
            missing.insert(lane);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Refusal::NoneFound { noun: "lane", ids: missing.iter().map(ToString::to_string).collect() }.into())
}

/// A cycle may include existing tasks: they may depend on a task that this import adds.
fn check_cycles(tx: &ReadTx<'_>, fresh: &[TaskId], incoming: &BTreeMap<TaskId, ImportedTask>) -> Result<()> {
    let on = |task: &TaskId| -> Result<Vec<TaskId>> {
        match incoming.get(task) {
            Some(one) => Ok(one.task.fields.depends_on.clone()),
            None => Ok(tasks::dependencies(tx, task)?),
        }
    };
    let up = |task: &TaskId| -> Result<Vec<TaskId>> {
        match incoming.get(task) {
            Some(one) => Ok(one.task.fields.parent.iter().cloned().collect()),
            None => Ok(tasks::parent(tx, task)?.into_iter().collect()),
        }
    };
    let circle = match cycle::find(fresh, on)? {
        None => cycle::find(fresh, up)?,
        circle => circle,
    };
    match circle {
        Some(path) => Err(Refusal::Cycle { path }.into()),
        None => Ok(()),
    }
}

fn absent_links(
    tx: &ReadTx<'_>,
    one: &ImportedTask,
    incoming: &BTreeMap<TaskId, ImportedTask>,
) -> Result<Vec<MissingDependencyView>> {
    let words = &one.task.fields;
    let links = words.depends_on.iter().map(|on| (on, BLOCKS)).chain(words.parent.iter().map(|up| (up, PARENT)));
    let mut absent = Vec::new();
    for (on, kind) in links {
        if !incoming.contains_key(on) && !tasks::exists(tx, on)? {
            absent.push(MissingDependencyView { task_id: one.task.id.to_string(), depends_on: on.to_string(), kind });
        }
    }
    Ok(absent)
}

fn answer(report: &ImportReport, fresh: &[TaskId]) -> Result<Answer> {
    let mut line = format!("imported {}", task_count_text(report.imported));
    if report.unchanged > 0 {
        let _ = write!(line, "; {} exist already, unchanged", task_count_text(report.unchanged));
    }
    let mut answer = Answer::new(report, "", line)?;
    answer.ids = fresh.iter().map(ToString::to_string).collect();
    let absent = report.absent.iter().map(|MissingDependencyView { task_id, depends_on, kind }| match *kind {
        PARENT => format!("{task_id} has the unknown parent {depends_on}"),
        _ => format!("{task_id} depends on the unknown task {depends_on}"),
    });
    let ignored = report
        .ignored
        .iter()
        .map(|IgnoredFieldView { task_id, what, value }| format!("{task_id}: {what} is ignored: {value}"));
    for told in [absent.collect::<Vec<_>>(), ignored.collect()] {
        answer.notes.extend(told.iter().take(MAX_NOTES).cloned());
        if told.len() > MAX_NOTES {
            answer.notes.push(format!("… and {} more; --json lists all", told.len() - MAX_NOTES));
        }
    }
    Ok(answer)
}

fn task_count_text(count: usize) -> String {
    if count == 1 { "1 task".into() } else { format!("{count} tasks") }
}
