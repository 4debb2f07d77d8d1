//! Imports tasks from a file.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    mem::take,
    path::Path,
};

use anyhow::Result;

use super::{
    import_record::{self, ImportedTask, PARENT},
    import_steps::{self, Links, Steps},
};
use crate::{
    actions::{Answer, App},
    domain::{Refusal, TaskId, plural},
    store::{ReadTx, events, removed_tasks, tasks},
    wire::import::{IgnoredFieldView, ImportFormat, ImportReport, MissingDependencyView, parse},
};

/// The most notes of one kind; the JSON document has all details.
const MAX_NOTES: usize = 10;

struct ImportFile {
    tasks: BTreeMap<TaskId, ImportedTask>,
    order: Vec<TaskId>,
    /// The records that the file marks as deleted.
    deleted: Vec<IgnoredFieldView>,
}

/// The changes that an import makes in the store.
struct ImportPlan<'f> {
    /// The tasks to insert, in the order of the file.
    fresh: Vec<&'f ImportedTask>,
    links: Links<'f>,
    report: ImportReport,
}

/// Imports the tasks of a file; `path` is only used for hints. Existing tasks stay unchanged, and removed ones stay removed.
/// `dry_run` writes nothing and returns the report that the import would return. Into a store on a server a large file is
/// written in several steps, otherwise in one write.
///
/// # Errors
/// `invalid_line` naming the line; `invalid_value` for a file without tasks; `not_found` for unknown lanes; `cycle`.
pub fn import(app: &App, path: &Path, text: &str, form: Option<ImportFormat>, dry_run: bool) -> Result<Answer> {
    let file = read(app, text, form)?;
    if dry_run {
        return app.read(|tx| {
            let plan = plan(tx, &file, true)?;
            answer(&plan.fresh, &plan.report)
        });
    }
    let intent = import_steps::intent_of(text);
    let is_one_step = import_steps::step_len(file.tasks.values()) == file.tasks.len();
    let done = if is_one_step || !app.settings.store.is_on_server() {
        app.mutate(|tx| {
            let plan = plan(tx, &file, false)?;
            import_steps::insert(tx, &plan.fresh)?;
            import_steps::complete(tx, &intent)?;
            answer(&plan.fresh, &plan.report)
        })
    } else {
        in_steps(app, path, &file, &intent)
    };
    app.snapshot_after_import();
    done
}

fn in_steps(app: &App, path: &Path, file: &ImportFile, intent: &str) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let (mut plan, seen) = app.read(|tx| Ok((plan(tx, file, false)?, events::last_seq(tx)?)))?;
    let ImportPlan { fresh, links, report } = &mut plan;
    Steps::write(app, path, &fresh.clone(), &take(links), intent, seen, |taken| {
        fresh.retain(|one| !taken.contains(&one.task.id));
        report.unchanged += report.imported - fresh.len();
        (report.imported, report.open) = (fresh.len(), count_open(fresh));
        answer(fresh, report)
    })
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

/// Separates new tasks from existing and removed ones, and checks the links of the new ones.
fn plan<'f>(tx: &ReadTx<'_>, file: &'f ImportFile, dry_run: bool) -> Result<ImportPlan<'f>> {
    let (mut unchanged, mut differing) = (0, 0);
    let mut links = Links::default();
    let mut existing = BTreeSet::new();
    let ids: Vec<&TaskId> = file.tasks.keys().collect();
    tasks::for_each_of(tx, &ids, |task| {
        unchanged += 1;
        differing += usize::from(file.tasks.get(&task.id).is_some_and(|one| one.task.fields != task.fields));
        existing.insert(task.id.clone());
        links.add_existing(task);
        Ok(())
    })?;
    let absent: Vec<&TaskId> = ids.into_iter().filter(|id| !existing.contains(*id)).collect();
    let removed = removed_tasks::among(tx, &absent)?;
    let mut ignored = file.deleted.clone();
    let mut fresh = Vec::new();
    for one in file.order.iter().filter(|id| !existing.contains(*id)).filter_map(|id| file.tasks.get(id)) {
        if removed.contains(&one.task.id) {
            ignored.push(IgnoredFieldView {
                task_id: one.task.id.to_string(),
                what: "the task".into(),
                value: "it was removed here".into(),
            });
        } else {
            links.add_incoming(one);
            fresh.push(one);
        }
    }
    let skipped = ignored.len();
    import_steps::check_lanes(tx, fresh.iter().copied())?;
    links.find_absent(tx)?;
    links.check_cycles(tx, fresh.iter().map(|one| &one.task.id), &BTreeSet::new())?;
    let absent = fresh.iter().flat_map(|one| links.absent_of(one)).collect();
    ignored.extend(fresh.iter().flat_map(|one| one.ignored.iter().cloned()));
    let (imported, open) = (fresh.len(), count_open(&fresh));
    let report = ImportReport { imported, unchanged, differing, skipped, open, dry_run, absent, ignored };
    Ok(ImportPlan { fresh, links, report })
}

/// Keeps the first few of `notes`, and adds a line that counts the others.
pub(super) fn shortened(mut notes: Vec<String>) -> Vec<String> {
    let more = notes.len().saturating_sub(MAX_NOTES);
    notes.truncate(MAX_NOTES);
    notes.extend((more > 0).then(|| format!("… and {more} more; --json lists all")));
    notes
}

fn count_open(fresh: &[&ImportedTask]) -> usize {
    fresh.iter().filter(|one| !one.task.state.status().is_closed()).count()
}

fn answer(fresh: &[&ImportedTask], report: &ImportReport) -> Result<Answer> {
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
    answer.ids = fresh.iter().map(|one| one.task.id.to_string()).collect();
    // A closed task waits for nothing, so all missing dependencies of closed tasks share one note.
    let closed: BTreeSet<&str> =
        fresh.iter().filter(|one| one.task.state.status().is_closed()).map(|one| one.task.id.as_str()).collect();
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
    answer.notes.extend([absent.collect::<Vec<_>>(), ignored.collect()].into_iter().flat_map(shortened));
    if !of_closed.is_empty() {
        let links = plural::count(of_closed.len(), "link");
        answer.notes.push(format!("closed tasks have {links} to unknown tasks; --json lists all"));
    }
    Ok(answer)
}
