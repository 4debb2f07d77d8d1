//! Parsing of one import record: Fairway's own task document, or a beads issue.

use std::fmt::Write;

use serde_json::Value;

use super::{add::new_task, validate};
use crate::{
    domain::{
        LaneName, Refusal, Role, TaskId,
        id::Label,
        task::{Check, DEFAULT_PRIORITY, Task, TaskFields, TaskState, TaskStatus},
        text_limits,
    },
    env::Timestamp,
    wire::import::{IgnoredFieldView, LinkRecord, Record},
};

/// The beads name of a dependency.
pub const BLOCKS: &str = "blocks";
/// The beads name of the link from a child to its parent.
pub const PARENT: &str = "parent-child";

/// Derived fields: the store computes them anew.
const DERIVED_FIELDS: [&str; 5] = ["ready", "waiting_on", "dependency_count", "dependent_count", "comment_count"];

/// The longest ignored value that is displayed, in characters.
const MAX_DISPLAYED_CHARS: usize = 120;

#[derive(Debug, Clone)]
pub struct ImportedTask {
    pub line: usize,
    pub task: Task,
    /// The status as the file has it.
    pub original_status: String,
    /// Why the task was closed.
    pub close_reason: Option<String>,
    pub ignored: Vec<IgnoredFieldView>,
}

/// Parses one record. Returns `None` for a deleted beads issue, and adds it to `ignored`.
///
/// # Errors
/// [`Refusal::Line`] with the line and the reason.
pub fn read(
    line: usize,
    record: Record,
    now: Timestamp,
    ignored: &mut Vec<IgnoredFieldView>,
) -> Result<Option<ImportedTask>, Refusal> {
    match convert(line, record, now) {
        Ok(ImportedTask { original_status: ref was, ref task, .. }) if was == "tombstone" => {
            ignored.push(IgnoredFieldView { task_id: task.id.to_string(), what: "status".into(), value: was.clone() });
            Ok(None)
        }
        Ok(incoming) => Ok(Some(incoming)),
        Err(refusal) => Err(Refusal::Line { line, why: refusal.to_string() }),
    }
}

fn convert(line: usize, record: Record, now: Timestamp) -> Result<ImportedTask, Refusal> {
    let id = TaskId::parse(record.id.as_deref().ok_or_else(|| Refusal::invalid("id", "is missing"))?)?;
    let title = record.title.clone().ok_or_else(|| Refusal::invalid("title", "is missing"))?;
    let mut ignored = Vec::new();
    let mut ignore = |what: &str, value: String| {
        ignored.push(IgnoredFieldView { task_id: id.to_string(), what: what.to_owned(), value: truncate(&value) });
    };
    let was = record.status.clone().unwrap_or_else(|| TaskStatus::Todo.as_str().to_owned());
    let beads = is_beads(&record, &was);
    let created_at = parse_time("created_at", record.created_at.as_deref())?.unwrap_or(now);
    let updated_at = parse_time("updated_at", record.updated_at.as_deref())?.unwrap_or(created_at);
    let closed_at = parse_time("closed_at", record.closed_at.as_deref())?.unwrap_or(updated_at);

    let mut fields = TaskFields { body: compose_body(&record), ..TaskFields::with_title(title) };
    fields.role = record.role.as_deref().map(Role::parse).transpose()?;
    fields.lane = record.lane.as_deref().map(LaneName::parse).transpose()?;
    fields.parent = record.parent.as_deref().map(TaskId::parse).transpose()?;
    fields.priority = match record.priority {
        None => DEFAULT_PRIORITY,
        Some(priority) => u8::try_from(priority)
            .map_err(|_| Refusal::invalid("priority", format!("{priority} is not from 0 to 4")))?,
    };
    fields.labels = record.labels.unwrap_or_default();
    fields.paths = record.paths.unwrap_or_default();
    fields.depends_on = parse_ids(&record.depends_on.unwrap_or_default())?;
    for check in record.checks.unwrap_or_default() {
        fields.checks.push(Check { name: Label::parse(&check.name)?, command: check.command });
    }
    fields.review_domains =
        record.review_domains.unwrap_or_default().iter().map(|name| Label::parse(name)).collect::<Result<_, _>>()?;
    for link in record.dependencies.unwrap_or_default() {
        if let Some((what, value)) = apply_link(&id, &link, &mut fields)? {
            ignore(&what, value);
        }
    }
    if let Some(kind) = &record.issue_type {
        fields.labels.push(format!("type:{kind}"));
    }
    let state = if beads {
        match was.as_str() {
            "closed" => TaskState::Done(closed_at),
            _ => {
                fields.labels.push(format!("beads:{was}"));
                TaskState::Todo
            }
        }
    } else {
        match TaskStatus::parse(&was) {
            Some(TaskStatus::Done) => TaskState::Done(closed_at),
            Some(TaskStatus::Cancelled) => TaskState::Cancelled(closed_at),
            Some(TaskStatus::Todo) => TaskState::Todo,
            // An import never claims: a claimed task becomes ready.
            Some(status) => {
                ignore("status", status.to_string());
                TaskState::Todo
            }
            None => {
                let known = TaskStatus::ALL.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(", ");
                let shown: String = was.chars().take(MAX_DISPLAYED_CHARS).flat_map(char::escape_debug).collect();
                return Err(Refusal::invalid("status", format!("'{shown}' is none of {known}")));
            }
        }
    };
    if let Some(claim) = record.claim.filter(|claim| !claim.is_null()) {
        ignore("claim", claim.get("claimant").and_then(Value::as_str).map_or_else(|| claim.to_string(), str::to_owned));
    }
    if let Some(reason) = record.blocked_reason {
        ignore("blocked_reason", reason);
    }
    for (name, value) in
        record.other.into_iter().filter(|(name, value)| !value.is_null() && !DERIVED_FIELDS.contains(&name.as_str()))
    {
        ignore(&name, value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    let fields = validate::normalize(fields)?;
    let task = Task {
        state,
        branch: record.branch.map(|branch| text_limits::check_line("branch", &branch)).transpose()?,
        commit: record.commit.map(|commit| text_limits::check_line("commit", &commit)).transpose()?,
        updated_at,
        ..new_task(id, fields, created_at)
    };
    let close_reason = record.close_reason.filter(|reason| !reason.is_empty());
    let close_reason = close_reason.map(|reason| text_limits::check_body("close_reason", &reason)).transpose()?;
    Ok(ImportedTask { line, task, original_status: was, close_reason, ignored })
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

/// Adds a link to the fields. Returns its kind and target when Fairway has no such kind of link.
fn apply_link(id: &TaskId, link: &LinkRecord, fields: &mut TaskFields) -> Result<Option<(String, String)>, Refusal> {
    let on =
        link.depends_on_id.as_deref().ok_or_else(|| Refusal::invalid("dependencies", "has a link without a target"))?;
    let kind = link.kind.as_deref().unwrap_or(BLOCKS);
    let is_own = link.issue_id.as_deref().is_none_or(|from| from == id.as_str());
    if !is_own {
        return Ok(Some((kind.to_owned(), format!("{} → {on}", link.issue_id.as_deref().unwrap_or_default()))));
    }
    match kind {
        BLOCKS => fields.depends_on.push(TaskId::parse(on)?),
        PARENT if fields.parent.as_ref().is_none_or(|parent| parent.as_str() == on) => {
            fields.parent = Some(TaskId::parse(on)?);
        }
        _ => return Ok(Some((kind.to_owned(), on.to_owned()))),
    }
    Ok(None)
}

fn parse_ids(texts: &[String]) -> Result<Vec<TaskId>, Refusal> {
    texts.iter().map(|text| Ok(TaskId::parse(text)?)).collect()
}

fn parse_time(what: &'static str, text: Option<&str>) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    match Timestamp::parse(text) {
        Some(time) => Ok(Some(time)),
        None => {
            let shown: String = text.chars().take(MAX_DISPLAYED_CHARS).flat_map(char::escape_debug).collect();
            Err(Refusal::invalid(what, format!("'{shown}' is not a time such as 2026-01-31T12:00:00Z")))
        }
    }
}

fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_DISPLAYED_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
