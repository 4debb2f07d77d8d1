//! Imports tasks from a file.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Write;
use std::mem::{self, take};
use std::path::Path;

use anyhow::Result;

use super::import_record::{self, ImportedTask, PARENT, SKIPPED};
use super::import_steps::{self, Links, Steps};
use crate::{Answer, App};
use fairway_core::domain::rules::dependency_cycle;
use fairway_core::domain::task::TaskFields;
use fairway_core::domain::{LaneName, Refusal, TaskId, issue, plural};
use fairway_core::store::{ReadTx, events, removed_tasks, tasks};
use fairway_core::wire::import::{
    BlockedTaskView, IgnoredFieldView, ImportFormat, ImportReport, MissingDependencyView, RecordAtLine, parse,
};

/// The most rows of a table of notes; the JSON document has all details.
const MAX_NOTES: usize = 20;

struct ImportFile {
    tasks: BTreeMap<TaskId, ImportedTask>,
    order: Vec<TaskId>,
    /// The records that are left out.
    skipped: Vec<IgnoredFieldView>,
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
/// `invalid_line` for a damaged file, naming the line; `invalid_value` for a file without tasks; `cycle` of open tasks; `not_found`
/// when a lane goes while the import is written.
pub fn import(app: &App, path: &Path, text: &str, form: Option<ImportFormat>, dry_run: bool) -> Result<Answer> {
    let mut file = read(app, text, form)?;
    let unknown = app.read(|tx| import_steps::unknown_lanes(tx, file.tasks.values()))?;
    file.leave_out_lanes(&unknown);
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
        (report.imported, report.open, report.blocked) = (fresh.len(), count_open(fresh), blocked_of(fresh));
        answer(fresh, report)
    })
}

fn read(app: &App, text: &str, form: Option<ImportFormat>) -> Result<ImportFile> {
    let placed = parse(text, form).map_err(|broken| Refusal::Line { line: broken.line, why: broken.why })?;
    if placed.is_empty() {
        let why = "has no tasks; expected JSON lines or a JSON document (of YAML: yq -o json), with id and title of each task";
        return Err(Refusal::invalid("the file", why).into());
    }
    let mut file = ImportFile { tasks: BTreeMap::new(), order: Vec::new(), skipped: Vec::new() };
    for RecordAtLine { line, record } in placed {
        let read = record
            .map_err(|why| import_record::skipped(&format!("line {line}"), &why))
            .and_then(|record| import_record::read(line, record, app.env.now()));
        match read {
            Ok(one) => file.add(one),
            Err(skipped) => file.skipped.push(skipped),
        }
    }
    file.cut_closed_cycles(
        |task| task.task.fields.depends_on.clone(),
        |fields, to| fields.depends_on.retain(|on| on != to),
    );
    file.cut_closed_cycles(|task| task.task.fields.parent.iter().cloned().collect(), |fields, _| fields.parent = None);
    Ok(file)
}

impl ImportFile {
    /// Adds a task. Of two with one id the one that was changed later counts, or the later one in the file.
    fn add(&mut self, mut one: ImportedTask) {
        let id = one.task.id.clone();
        let Some(earlier) = self.tasks.get_mut(&id) else {
            self.order.push(id.clone());
            self.tasks.insert(id, one);
            return;
        };
        if earlier.original_id != one.original_id {
            let why = format!("its id is like {} of line {}", earlier.original_id, earlier.line);
            return self.skipped.push(import_record::skipped(&one.original_id, &why));
        }
        if one.changed >= earlier.changed {
            mem::swap(earlier, &mut one);
        }
        let older = IgnoredFieldView {
            task_id: id.to_string(),
            what: "an older record".into(),
            value: format!("line {}", one.line),
        };
        earlier.ignored.push(older);
    }

    /// Takes the lanes that are not here from the tasks.
    fn leave_out_lanes(&mut self, unknown: &BTreeSet<LaneName>) {
        for one in self.tasks.values_mut() {
            if let Some(lane) = one.task.fields.lane.take_if(|lane| unknown.contains(lane)) {
                let (task_id, what) = (one.task.id.to_string(), "an unknown lane".into());
                one.ignored.push(IgnoredFieldView { task_id, what, value: lane.to_string() });
            }
        }
    }

    /// Removes links of closed tasks that close a cycle: a closed task waits for nothing. A cycle of open tasks stays.
    fn cut_closed_cycles(
        &mut self,
        next: impl Fn(&ImportedTask) -> Vec<TaskId>,
        cut: impl Fn(&mut TaskFields, &TaskId),
    ) {
        loop {
            let Ok::<_, Infallible>(circle) =
                dependency_cycle::find(&self.order, |id| Ok(self.tasks.get(id).map(&next).unwrap_or_default()));
            let is_closed = |id: &TaskId| self.tasks.get(id).is_some_and(|one| one.task.state.status().is_closed());
            let link =
                circle.as_ref().and_then(|circle| circle.windows(2).find(|link| link.first().is_some_and(is_closed)));
            let Some([from, to]) = link else { return };
            let Some(one) = self.tasks.get_mut(from) else { return };
            cut(&mut one.task.fields, to);
            let what = "a link in a cycle of closed tasks".into();
            one.ignored.push(IgnoredFieldView { task_id: from.to_string(), what, value: to.to_string() });
        }
    }
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
    let mut ignored = file.skipped.clone();
    let mut fresh = Vec::new();
    for one in file.order.iter().filter(|id| !existing.contains(*id)).filter_map(|id| file.tasks.get(id)) {
        if removed.contains(&one.task.id) {
            ignored.push(import_record::skipped(one.task.id.as_str(), "it was removed here"));
        } else {
            links.add_incoming(one);
            fresh.push(one);
        }
    }
    let skipped = ignored.len();
    links.find_absent(tx)?;
    links.check_cycles(tx, fresh.iter().map(|one| &one.task.id), &BTreeSet::new())?;
    let absent = fresh.iter().flat_map(|one| links.absent_of(one)).collect();
    ignored.extend(fresh.iter().flat_map(|one| one.ignored.iter().cloned()));
    let (imported, open) = (fresh.len(), count_open(&fresh));
    let blocked = blocked_of(&fresh);
    let report = ImportReport { imported, unchanged, differing, skipped, open, dry_run, absent, ignored, blocked };
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

fn blocked_of(fresh: &[&ImportedTask]) -> Vec<BlockedTaskView> {
    let view = |one: &&ImportedTask| {
        let (task_id, was) = (one.task.id.to_string(), one.original_status.clone());
        Some(BlockedTaskView { task_id, was, reason: one.blocked.clone()? })
    };
    fresh.iter().filter_map(view).collect()
}

fn answer(fresh: &[&ImportedTask], report: &ImportReport) -> Result<Answer> {
    let verb = if report.dry_run { "would import" } else { "imported" };
    let mut line = format!("{verb} {}", plural::count(report.imported, "task"));
    if report.imported > 0 {
        let blocked = report.blocked.len();
        let blocked = if blocked > 0 { format!(", {blocked} of these blocked") } else { String::new() };
        let _ = write!(line, " ({} open{blocked})", report.open);
    }
    if report.unchanged > 0 {
        let _ = write!(line, "; {} exist already, unchanged", plural::count(report.unchanged, "task"));
    }
    if report.differing > 0 {
        let _ = write!(line, " ({} different in the file)", report.differing);
    }
    if report.skipped > 0 {
        let _ = write!(line, "; {} skipped", report.skipped);
    }
    let mut answer = Answer::new(report, "", line)?;
    answer.ids = fresh.iter().map(|one| one.task.id.to_string()).collect();
    answer.notes = note_table(fresh, report);
    Ok(answer)
}

/// The notes as a table: what they say, how often, and the first task of each.
fn note_table(fresh: &[&ImportedTask], report: &ImportReport) -> Vec<String> {
    let closed: BTreeSet<&str> =
        fresh.iter().filter(|one| one.task.state.status().is_closed()).map(|one| one.task.id.as_str()).collect();
    let (skipped, ignored): (Vec<_>, Vec<_>) = report.ignored.iter().partition(|one| one.what == SKIPPED);
    let skipped = skipped.into_iter().map(|one| (format!("skipped: {}", one.value), one.task_id.clone()));
    let blocked = report.blocked.iter().map(|one| {
        // An open task waits for another reason than its status, which the sentence begins with.
        let is_told = one.reason.starts_with(&one.was);
        let was = if is_told { &*one.was } else { one.reason.split(' ').next().unwrap_or_default() };
        (format!("blocked, since it was {was}"), one.task_id.clone())
    });
    let absent = report.absent.iter().map(|MissingDependencyView { task_id, depends_on, kind }| {
        let what = if *kind == PARENT { "has an unknown parent" } else { "depends on an unknown task" };
        let what = if closed.contains(task_id.as_str()) { "is closed, with a link to an unknown task" } else { what };
        (what.to_owned(), format!("{task_id}: {depends_on}"))
    });
    let ignored = ignored
        .into_iter()
        .map(|IgnoredFieldView { task_id, what, value }| (format!("{what} is ignored"), format!("{task_id}: {value}")));
    let mut order = Vec::new();
    let mut notes: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (what, first) in skipped.chain(blocked).chain(absent).chain(ignored) {
        let (count, _) = notes.entry(what.clone()).or_insert((0, first));
        if *count == 0 {
            order.push(what);
        }
        *count += 1;
    }
    let widest = order.iter().map(|what| what.chars().count()).max().unwrap_or(0);
    let row = |what: &String| {
        let (count, first) = notes.get(what).cloned().unwrap_or_default();
        let (what, first) = (issue::without_controls(what, true).0, issue::without_controls(&first, true).0);
        format!("{count:>5}  {what:widest$}  {first}")
    };
    let heading = (!order.is_empty()).then(|| format!("TASKS  {:widest$}  FIRST", "NOTE"));
    heading.into_iter().chain(shortened(order.iter().map(row).collect())).collect()
}
