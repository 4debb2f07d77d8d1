//! Parsing of one import record: Fairway's own task document, or a beads issue.

use std::fmt::Write;

use serde_json::Value;

use super::add::new_task;
use super::validate;
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::globs;
use fairway_core::domain::task::{Check, DEFAULT_PRIORITY, LOWEST_PRIORITY, Task, TaskFields, TaskState, TaskStatus};
use fairway_core::domain::text_limits::{self, MAX_BODY_BYTES, MAX_LINE_BYTES};
use fairway_core::domain::{LaneName, Refusal, Role, TaskId, claim, issue};
use fairway_core::env::Timestamp;
use fairway_core::wire::import::{IgnoredFieldView, LinkRecord, Record};

/// The beads name of a dependency.
pub const BLOCKS: &str = "blocks";
/// The beads name of the link from a child to its parent.
pub const PARENT: &str = "parent-child";
/// What a note is about when a whole record is left out.
pub const SKIPPED: &str = "the task";

/// Derived fields: the store computes them anew.
const DERIVED_FIELDS: [&str; 5] = ["ready", "waiting_on", "dependency_count", "dependent_count", "comment_count"];

/// Fields that are in the reason of a blocked task.
const REASON_FIELDS: [&str; 3] = ["assignee", "defer_until", "pinned"];

/// The longest ignored value that is displayed, in characters.
const MAX_DISPLAYED_CHARS: usize = 120;

/// The types of links after which a task waits for another.
const BLOCKING: [&str; 7] =
    [BLOCKS, "conditional-blocks", "waits-for", "depends-on", "depends_on", "blocked-by", "blocked_by"];

/// The types of beads issues that are records of a machinery of agents, and no work. A label `gt:TYPE` says the same.
const NO_WORK: [&str; 14] = [
    "agent", "convoy", "event", "gate", "memory", "merge-request", "message", "molecule", "queue", "rig", "role",
    "session", "slot", "wisp",
];

/// The title of a task whose record has an empty one.
const NO_TITLE: &str = "(no title)";

/// How many digits a time in seconds may have; one with more is in milliseconds.
const SECONDS_DIGITS: usize = 11;
const MILLISECONDS_DIGITS: usize = 14;

#[derive(Debug, Clone)]
pub struct ImportedTask {
    pub line: usize,
    pub task: Task,
    /// The id as the file has it.
    pub original_id: String,
    /// The status as the file has it.
    pub original_status: String,
    /// When the record was changed last, as the file says.
    pub changed: Option<Timestamp>,
    /// Why the task is not to be worked on now.
    pub blocked: Option<String>,
    /// Why the task was closed.
    pub close_reason: Option<String>,
    pub ignored: Vec<IgnoredFieldView>,
}

/// What the status of a record means here.
enum Meaning {
    Todo,
    Done,
    Cancelled,
    Deleted,
    /// The task is not to be worked on now, or the status is unknown here.
    NotNow,
}

impl Meaning {
    fn of(status: &str) -> Self {
        match status.trim().to_ascii_lowercase().as_str() {
            "todo" | "open" | "ready" | "new" | "reopened" => Self::Todo,
            "done" | "closed" | "completed" | "resolved" => Self::Done,
            "cancelled" | "canceled" | "wontfix" | "duplicate" => Self::Cancelled,
            "tombstone" | "deleted" => Self::Deleted,
            _ => Self::NotNow,
        }
    }
}

/// Notes about one task: which of its fields have no place here.
struct Notes {
    task_id: String,
    ignored: Vec<IgnoredFieldView>,
}

impl Notes {
    fn ignore(&mut self, what: &str, value: &str) {
        let (task_id, what) = (self.task_id.clone(), what.to_owned());
        self.ignored.push(IgnoredFieldView { task_id, what, value: shown(value) });
    }

    /// The value, unless it is refused; then it is ignored.
    fn accept<T>(&mut self, what: &str, value: &str, read: Result<T, Refusal>) -> Option<T> {
        read.map_err(|_| self.ignore(what, value)).ok()
    }

    /// A text with no more than `limit` bytes, and without control characters.
    fn text(&mut self, what: &str, text: &str, limit: usize) -> String {
        let (clean, has_controls) = issue::without_controls(text, false);
        let kept = clean.get(..clean.floor_char_boundary(limit)).unwrap_or_default();
        if has_controls {
            self.ignore(what, "control characters");
        }
        if kept.len() < clean.len() {
            self.ignore(what, &format!("what exceeds {limit} bytes"));
        }
        kept.to_owned()
    }
}

/// Reads one record. What is odd in it is left out with a note, and the task comes in without it. A record that is no task, is
/// deleted, or of which a role, lane, check or review domain cannot be taken is left out as a whole.
pub fn read(line: usize, record: Record, now: Timestamp) -> Result<ImportedTask, IgnoredFieldView> {
    let task_id =
        record.id.clone().filter(|id| !id.trim().is_empty()).map_or_else(|| format!("line {line}"), |id| shown(&id));
    let left_out = |why: String| skipped(&task_id, &why);
    if let Some(kind) = machinery(&record) {
        return Err(left_out(format!("{kind} is no work")));
    }
    if matches!(record.status.as_deref().map(Meaning::of), Some(Meaning::Deleted)) {
        return Err(left_out("it is deleted there".to_owned()));
    }
    convert(line, record, now).map_err(|refusal| left_out(refusal.to_string()))
}

/// The note about a record that is left out.
pub fn skipped(task_id: &str, why: &str) -> IgnoredFieldView {
    IgnoredFieldView { task_id: task_id.to_owned(), what: SKIPPED.to_owned(), value: shown(why) }
}

/// The type of a record that is no work: it is of a machinery of agents, or was made to be thrown away.
fn machinery(record: &Record) -> Option<String> {
    let other = |name: &str| record.other.iter().find(|(field, _)| field == name).map(|(_, value)| value);
    let kind = record.issue_type.as_deref().or_else(|| other("_type").and_then(Value::as_str));
    let of_label = record.labels.iter().flatten().filter_map(|label| label.strip_prefix("gt:"));
    let flags = ["ephemeral", "wisp", "is_template"];
    let flag = flags.into_iter().find(|name| other(name) == Some(&Value::Bool(true)));
    kind.into_iter().chain(of_label).find(|kind| NO_WORK.contains(kind)).or(flag).map(str::to_owned)
}

/// Why a task is not to be worked on now, as its record says; `None` when it may be.
fn reason_to_wait(record: &Record, was: &str, now: Timestamp) -> Option<String> {
    let other = |name: &str| record.other.iter().find(|(field, _)| field == name).map(|(_, value)| value);
    let text = |name: &str| other(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let until = text("defer_until").filter(|until| Timestamp::parse(until).is_none_or(|until| until > now));
    let is_pinned = other("pinned") == Some(&Value::Bool(true));
    let status = match Meaning::of(was) {
        Meaning::NotNow => was,
        _ if until.is_some() => "deferred",
        _ if is_pinned => "pinned",
        _ => return None,
    };
    let claimant = record.claim.as_ref().and_then(|claim| claim.get("claimant")?.as_str());
    if let (Some(claim::IMPORT), Some(reason)) = (claimant, &record.blocked_reason) {
        // Such a task from our own export.
        return Some(reason.clone());
    }
    let by = claimant.or_else(|| text("assignee")).map(|who| format!(" by {who}")).unwrap_or_default();
    let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
    let why = record.blocked_reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let (reason, _) = issue::without_controls(&format!("{status}{by}{until} in the imported file{why}"), true);
    Some(reason.get(..reason.floor_char_boundary(MAX_LINE_BYTES)).unwrap_or_default().to_owned())
}

fn convert(line: usize, record: Record, now: Timestamp) -> Result<ImportedTask, Refusal> {
    let original_id = record.id.clone().ok_or_else(|| Refusal::invalid("id", "is missing"))?;
    let id = task_id(&original_id)?;
    let title = record.title.clone().ok_or_else(|| Refusal::invalid("title", "is missing"))?;
    let mut notes = Notes { task_id: id.to_string(), ignored: Vec::new() };
    if id.as_str() != original_id {
        notes.ignore("id", &original_id);
    }
    let was = record.status.clone().filter(|status| !status.trim().is_empty());
    let was = was.unwrap_or_else(|| TaskStatus::Todo.as_str().to_owned());
    let mut time = |what: &'static str, text: &Option<String>| {
        let text = text.as_deref()?;
        notes.accept(what, text, parse_time(text).ok_or_else(|| Refusal::invalid(what, "is no time")))
    };
    let created_at = time("created_at", &record.created_at);
    let changed = time("updated_at", &record.updated_at);
    let closed_at = time("closed_at", &record.closed_at);
    let created_at = created_at.or(changed).unwrap_or(now);
    let updated_at = changed.unwrap_or(created_at);
    let closed_at = closed_at.unwrap_or(updated_at);
    let blocked = reason_to_wait(&record, &was, now);

    let title = notes.text("title", &title, MAX_LINE_BYTES);
    let title = if title.trim().is_empty() { NO_TITLE.to_owned() } else { title };
    let body = notes.text("body", &compose_body(&record), MAX_BODY_BYTES);
    let mut fields = TaskFields { body, ..TaskFields::with_title(title) };
    fields.role = record.role.as_deref().map(Role::parse).transpose()?;
    fields.lane = record.lane.as_deref().map(LaneName::parse).transpose()?;
    fields.parent = record.parent.as_deref().and_then(|parent| notes.accept("parent", parent, task_id(parent)));
    if let Some(priority) = record.priority {
        let nearest = priority.clamp(0, i64::from(LOWEST_PRIORITY));
        if nearest != priority {
            notes.ignore("priority", &priority.to_string());
        }
        fields.priority = u8::try_from(nearest).unwrap_or(DEFAULT_PRIORITY);
    }
    let is_closed = matches!(Meaning::of(&was), Meaning::Done | Meaning::Cancelled);
    let of_status = (is_beads(&record, &was) && !is_closed).then(|| format!("beads:{was}"));
    let of_type = record.issue_type.as_ref().map(|kind| format!("type:{kind}"));
    for label in record.labels.into_iter().flatten().chain(of_type).chain(of_status) {
        match label.trim() {
            "" => {}
            trimmed => fields.labels.extend(notes.accept("label", &label, validate::label(trimmed))),
        }
    }
    for glob in record.paths.into_iter().flatten() {
        fields.paths.extend(notes.accept("path", &glob, globs::check(&glob).map(|()| glob.clone())));
    }
    for on in record.depends_on.into_iter().flatten() {
        fields.depends_on.extend(notes.accept("depends_on", &on, task_id(&on)));
    }
    for check in record.checks.unwrap_or_default() {
        fields.checks.push(Check { name: Label::parse(&check.name)?, command: check.command });
    }
    fields.review_domains =
        record.review_domains.unwrap_or_default().iter().map(|name| Label::parse(name)).collect::<Result<_, _>>()?;
    for link in record.dependencies.unwrap_or_default() {
        apply_link(&original_id, &link, &mut fields, &mut notes);
    }
    // A task that waits for itself would never be ready.
    let own_parent = fields.parent.take_if(|parent| *parent == id);
    if own_parent.is_some() || fields.depends_on.contains(&id) {
        fields.depends_on.retain(|on| *on != id);
        notes.ignore("a link to itself", id.as_str());
    }
    let is_used = |name: &str| DERIVED_FIELDS.contains(&name) || blocked.is_some() && REASON_FIELDS.contains(&name);
    let state = match Meaning::of(&was) {
        Meaning::Done => TaskState::Done(closed_at),
        Meaning::Cancelled => TaskState::Cancelled(closed_at),
        Meaning::Todo | Meaning::Deleted | Meaning::NotNow => TaskState::Todo,
    };
    for (name, value) in record.other.into_iter().filter(|(name, value)| !value.is_null() && !is_used(name)) {
        notes.ignore(&name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    let mut line_of = |what: &'static str, text: Option<String>| {
        text.and_then(|text| notes.accept(what, &text, text_limits::check_line(what, &text)))
    };
    let (branch, commit) = (line_of("branch", record.branch), line_of("commit", record.commit));
    let close_reason = record.close_reason.filter(|reason| !reason.is_empty());
    let close_reason = close_reason.map(|reason| notes.text("close_reason", &reason, MAX_BODY_BYTES));
    let task = Task { state, branch, commit, updated_at, ..new_task(id, validate::normalize(fields)?, created_at) };
    let ignored = notes.ignored;
    Ok(ImportedTask { line, task, original_id, original_status: was, changed, blocked, close_reason, ignored })
}

/// The id of a task with this id in a file. Where Fairway does not allow it, it gets a letter in front and hyphens for what cannot
/// be in an id, always in the same way.
fn task_id(text: &str) -> Result<TaskId, Refusal> {
    TaskId::parse(text).or_else(|refused| {
        let allowed = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
        let fitted: String = text.trim().chars().map(|one| if allowed(one) { one } else { '-' }).collect();
        let fitted =
            if fitted.starts_with(|first: char| first.is_ascii_alphabetic()) { fitted } else { format!("t-{fitted}") };
        let has_sense = text.contains(|character: char| character.is_ascii_alphanumeric());
        TaskId::parse(&fitted).ok().filter(|_| has_sense).ok_or_else(|| refused.into())
    })
}

/// Whether a record has a field or a status that only beads has.
fn is_beads(record: &Record, status: &str) -> bool {
    record.issue_type.is_some()
        || record.description.is_some()
        || record.dependencies.is_some()
        || record.close_reason.is_some()
        || matches!(status, "open" | "closed" | "deferred" | "hooked" | "pinned" | "tombstone")
}

fn compose_body(record: &Record) -> String {
    let mut body = record.body.clone().or_else(|| record.description.clone()).unwrap_or_default();
    let parts = [
        ("Description", record.description.as_ref().filter(|_| record.body.is_some())),
        ("Design", record.design.as_ref()),
        ("Acceptance criteria", record.acceptance_criteria.as_ref()),
        ("Notes", record.notes.as_ref()),
    ];
    for (heading, text) in parts {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            let gap = if body.is_empty() { "" } else { "\n\n" };
            let _ = write!(body, "{gap}## {heading}\n\n{text}");
        }
    }
    body
}

/// Adds a link to the fields, or ignores it when Fairway has no such kind of link.
fn apply_link(id: &str, link: &LinkRecord, fields: &mut TaskFields, notes: &mut Notes) {
    let kind = link.kind.as_deref().unwrap_or(BLOCKS);
    let Some(on) = link.depends_on_id.as_deref() else { return notes.ignore("a link", "without a target") };
    if let Some(from) = link.issue_id.as_deref().filter(|from| *from != id) {
        return notes.ignore(kind, &format!("{from} → {on}"));
    }
    match task_id(on) {
        Ok(on) if BLOCKING.contains(&kind) => fields.depends_on.push(on),
        Ok(on) if kind == PARENT && fields.parent.as_ref().is_none_or(|parent| *parent == on) => {
            fields.parent = Some(on);
        }
        _ => notes.ignore(kind, on),
    }
}

/// A time as text, or as a count of seconds or milliseconds since 1970.
fn parse_time(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text).or_else(|| {
        let (count, digits) = (text.trim().parse::<i64>().ok()?, text.trim().len());
        (digits <= MILLISECONDS_DIGITS)
            .then(|| Timestamp::from_millis(if digits < SECONDS_DIGITS { count * 1_000 } else { count }))
    })
}

/// A value, shortened.
fn shown(text: &str) -> String {
    match text.char_indices().nth(MAX_DISPLAYED_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
