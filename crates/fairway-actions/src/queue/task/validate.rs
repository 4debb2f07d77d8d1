//! Validation of task fields: character sets and lengths, then links to lanes and other tasks.

use anyhow::Result;

use crate::core::lookup;
use fairway_core::domain::rules::{dependency_cycle, globs};
use fairway_core::domain::task::TaskFields;
use fairway_core::domain::{Refusal, TaskId, text_limits};
use fairway_core::store::{ReadTx, tasks};

/// The longest label, in bytes.
pub(super) const MAX_LABEL_BYTES: usize = 128;

/// Checks and normalizes the fields as far as that needs no store: lists are sorted and without duplicates.
///
/// # Errors
/// `invalid_value`, naming the field.
pub fn normalize(mut fields: TaskFields) -> Result<TaskFields, Refusal> {
    fields.title = text_limits::check_line("title", &fields.title)?;
    fields.body = text_limits::check_body("body", &fields.body)?;
    if fields.priority > fairway_core::domain::task::LOWEST_PRIORITY {
        return Err(Refusal::invalid("priority", format!("{} is not from 0 to 4", fields.priority)));
    }
    for one in &fields.labels {
        label(one)?;
    }
    for glob in &fields.paths {
        globs::check(glob)?;
    }
    for check in &fields.checks {
        text_limits::check_line("check", &check.command)?;
    }
    fields.labels.sort();
    fields.labels.dedup();
    fields.paths.sort();
    fields.paths.dedup();
    fields.depends_on.sort();
    fields.depends_on.dedup();
    fields.checks.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = fields.checks.windows(2).find_map(|pair| match pair {
        [a, b] if a.name == b.name => Some(a.name.clone()),
        _ => None,
    }) {
        return Err(Refusal::invalid("check", format!("'{pair}' is given twice")));
    }
    fields.review_domains.sort();
    fields.review_domains.dedup();
    Ok(fields)
}

/// Checks a label: one line of at most [`MAX_LABEL_BYTES`] bytes.
pub fn label(text: &str) -> Result<String, Refusal> {
    let label = text_limits::check_line("label", text)?;
    if label.len() > MAX_LABEL_BYTES || label.contains(['\n', '\t']) {
        return Err(Refusal::invalid("label", format!("must be one line of at most {MAX_LABEL_BYTES} bytes")));
    }
    Ok(label)
}

/// Checks the links that `fields` has and `before` has not: the lane, the parent and the dependencies must exist, and must not
/// form a cycle. Links that the task had before may point to missing tasks, because an import may bring only a part of a
/// backlog.
///
/// # Errors
/// `cycle`.
pub fn check_links(tx: &ReadTx<'_>, id: &TaskId, fields: &TaskFields, before: Option<&TaskFields>) -> Result<()> {
    if let Some(lane) = &fields.lane
        && before.is_none_or(|before| before.lane.as_ref() != Some(lane))
    {
        lookup::lane(tx, lane)?;
    }
    if let Some(parent) = &fields.parent
        && before.is_none_or(|before| before.parent.as_ref() != Some(parent))
    {
        if parent != id {
            lookup::task(tx, parent)?;
        }
        let up = |task: &TaskId| -> Result<Vec<TaskId>> { Ok(tasks::parent(tx, task)?.into_iter().collect()) };
        if let Some(path) = dependency_cycle::closed_by(id, parent, up)? {
            return Err(Refusal::Cycle { path }.into());
        }
    }
    let is_new = |on: &TaskId| before.is_none_or(|before| !before.depends_on.contains(on));
    for on in fields.depends_on.iter().filter(|on| is_new(on)) {
        check_dependency(tx, id, on)?;
    }
    Ok(())
}

/// Refuses an unknown dependency, and one that would close a cycle.
pub fn check_dependency(tx: &ReadTx<'_>, id: &TaskId, on: &TaskId) -> Result<()> {
    if on != id {
        lookup::task(tx, on)?;
    }
    let next = |task: &TaskId| -> Result<Vec<TaskId>> { Ok(tasks::dependencies(tx, task)?) };
    match dependency_cycle::closed_by(id, on, next)? {
        Some(path) => Err(Refusal::Cycle { path }.into()),
        None => Ok(()),
    }
}
