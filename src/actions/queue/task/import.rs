//! Import tasks from a file, all or none.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use anyhow::Result;

use super::import_record::{self, BLOCKS, ImportedTask, PARENT};
use crate::{
    actions::{Answer, App},
    domain::{Event, EventKind, Refusal, TaskId, plural, rules::cycle},
    store::{ReadTx, lanes, removed_tasks, tasks},
    wire::import::{IgnoredFieldView, ImportFormat, ImportReport, MissingDependencyView, parse},
};

/// The maximum number of notes; the JSON document has all details.
const MAX_NOTES: usize = 10;

/// A parsed file.
struct ImportFile {
    /// The tasks, by id.
    tasks: BTreeMap<TaskId, ImportedTask>,
    /// Their ids in the order of the file.
    order: Vec<TaskId>,
    /// The records that are deleted in the file.
    deleted: Vec<IgnoredFieldView>,
}

/// The changes of an import to the store.
struct ImportPlan {
    /// The tasks to insert, in the order of the file.
    fresh: Vec<ImportedTask>,
    report: ImportReport,
}

/// Imports the tasks of a file. Existing tasks stay unchanged, and removed ones stay removed. With `dry_run`, writes nothing
/// and reports the same.
///
/// # Errors
/// `invalid_line` naming the line; `invalid_value` for a file without tasks; `not_found` for unknown lanes; `cycle`.
pub fn import(app: &App, text: &str, form: Option<ImportFormat>, dry_run: bool) -> Result<Answer> {
    let file = read(app, text, form)?;
    if dry_run {
        return app.read(|tx| answer(&plan(tx, &file, true)?));
    }
    let done = app.mutate(|tx| {
        let plan = plan(tx, &file, false)?;
        for one in &plan.fresh {
            tasks::insert(tx, &one.task)?;
            tx.record(
                &Event::new(EventKind::TaskImported)
                    .task(&one.task.id)
                    .lane(one.task.fields.lane.as_ref())
                    .with("title", one.task.fields.title.as_str())
                    .with("priority", i64::from(one.task.fields.priority))
                    .with("status", one.task.state.status().as_str())
                    .with("was", one.original_status.as_str())
                    .with("close_reason", one.close_reason.as_deref()),
            )?;
        }
        answer(&plan)
    })?;
    app.snapshot_after_import();
    Ok(done)
}

fn read(app: &App, text: &str, form: Option<ImportFormat>) -> Result<ImportFile> {
    let placed = parse(text, form).map_err(|broken| Refusal::Line { line: broken.line, why: broken.why })?;
    if placed.is_empty() {
        let why = "has no tasks; expected JSON lines, a JSON document or YAML, with id and title of each task";
        return Err(Refusal::invalid("the file", why).into());
    }
    let mut file = ImportFile { tasks: BTreeMap::new(), order: Vec::new(), deleted: Vec::new() };
    for one in placed {
        let Some(one) = import_record::read(one.line, one.record, app.env.now(), &mut file.deleted)? else { continue };
        let id = one.task.id.clone();
        if let Some(earlier) = file.tasks.get(&id) {
            let why = format!("{id} is on line {} already", earlier.line);
            return Err(Refusal::Line { line: one.line, why }.into());
        }
        file.order.push(id.clone());
        file.tasks.insert(id, one);
    }
    Ok(file)
}

/// Tells new tasks from existing and removed ones, and checks the links of the new ones.
fn plan(tx: &ReadTx<'_>, file: &ImportFile, dry_run: bool) -> Result<ImportPlan> {
    let (mut unchanged, mut differing) = (0, 0);
    let mut incoming: BTreeMap<TaskId, ImportedTask> = BTreeMap::new();
    let mut fresh_ids = Vec::new();
    let mut ignored = file.deleted.clone();
    for id in &file.order {
        let Some(one) = file.tasks.get(id) else { continue };
        if let Some(existing) = tasks::find(tx, id)? {
            unchanged += 1;
            differing += usize::from(existing.fields != one.task.fields);
        } else if removed_tasks::find(tx, id)?.is_some() {
            ignored.push(IgnoredFieldView {
                task_id: id.to_string(),
                what: "the task".into(),
                value: "it was removed here".into(),
            });
        } else {
            fresh_ids.push(id.clone());
            incoming.insert(id.clone(), one.clone());
        }
    }
    let skipped = ignored.len();
    check_lanes(tx, incoming.values())?;
    check_cycles(tx, &fresh_ids, &incoming)?;
    let mut absent = Vec::new();
    for one in fresh_ids.iter().filter_map(|id| incoming.get(id)) {
        absent.extend(absent_links(tx, one, &incoming)?);
        ignored.extend(one.ignored.iter().cloned());
    }
    let fresh: Vec<ImportedTask> = fresh_ids.iter().filter_map(|id| incoming.remove(id)).collect();
    let open = fresh.iter().filter(|one| !one.task.state.status().is_closed()).count();
    let report = ImportReport { imported: fresh.len(), unchanged, differing, skipped, open, dry_run, absent, ignored };
    Ok(ImportPlan { fresh, report })
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

fn answer(plan: &ImportPlan) -> Result<Answer> {
    let report = &plan.report;
    let verb = if report.dry_run { "would import" } else { "imported" };
    let mut line = format!("{verb} {}", plural::count(report.imported, "task"));
    if report.imported > 0 {
        let _ = write!(line, " ({} open)", report.open);
    }
    if report.unchanged > 0 {
        let _ = write!(line, "; {} exist already, unchanged", plural::count(report.unchanged, "task"));
    }
    if report.differing > 0 {
        let _ = write!(line, " ({} different in the file)", report.differing);
    }
    if report.skipped > 0 {
        let _ = write!(line, "; {} skipped", plural::count(report.skipped, "task"));
    }
    let mut answer = Answer::new(report, "", line)?;
    answer.ids = plan.fresh.iter().map(|one| one.task.id.to_string()).collect();
    // A closed task waits for nothing: the ids that it lacks are one line.
    let closed: BTreeSet<&str> =
        plan.fresh.iter().filter(|one| one.task.state.status().is_closed()).map(|one| one.task.id.as_str()).collect();
    let (of_closed, of_open): (Vec<_>, Vec<_>) =
        report.absent.iter().partition(|link| closed.contains(link.task_id.as_str()));
    let absent = of_open.into_iter().map(|MissingDependencyView { task_id, depends_on, kind }| match *kind {
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
    if !of_closed.is_empty() {
        let links = plural::count(of_closed.len(), "link");
        answer.notes.push(format!("closed tasks have {links} to unknown tasks; --json lists all"));
    }
    Ok(answer)
}
