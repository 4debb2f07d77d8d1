//! Words about a task on their way into the store: checked against the alphabets, the other tasks and the lanes.

use anyhow::Result;

use crate::{
    actions::core::lookup,
    domain::{
        Refusal, TaskId,
        rules::{cycle, globs},
        task::TaskFields,
        text_limits,
    },
    store::{ReadTx, tasks},
};

/// The longest label, in bytes.
const MAX_LABEL_BYTES: usize = 128;

/// Checks what can be checked without the store, sorts the lists and drops repeats.
///
/// # Errors
/// `invalid_value`, naming the field.
pub fn normalize(mut words: TaskFields) -> Result<TaskFields, Refusal> {
    words.title = text_limits::check_line("title", &words.title)?;
    words.body = text_limits::check_body("body", &words.body)?;
    if words.priority > crate::domain::task::LOWEST_PRIORITY {
        return Err(Refusal::invalid("priority", format!("{} is not from 0 to 4", words.priority)));
    }
    for label in &words.labels {
        if text_limits::check_line("label", label)?.len() > MAX_LABEL_BYTES || label.contains(['\n', '\t']) {
            return Err(Refusal::invalid("label", format!("must be one line of at most {MAX_LABEL_BYTES} bytes")));
        }
    }
    for glob in &words.paths {
        globs::check(glob)?;
    }
    for check in &words.checks {
        text_limits::check_line("check", &check.command)?;
    }
    words.labels.sort();
    words.labels.dedup();
    words.paths.sort();
    words.paths.dedup();
    words.depends_on.sort();
    words.depends_on.dedup();
    words.checks.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(pair) = words.checks.windows(2).find_map(|pair| match pair {
        [a, b] if a.name == b.name => Some(a.name.clone()),
        _ => None,
    }) {
        return Err(Refusal::invalid("check", format!("'{pair}' is given twice")));
    }
    words.review_domains.sort();
    words.review_domains.dedup();
    Ok(words)
}

/// Checks what the words point at and `before` did not: the lane, the parent and the dependencies are there, and no circle
/// arises. What stood there before may well be absent: an import brings a part of a backlog.
///
/// # Errors
/// `not_found`, `cycle`.
pub fn check_links(tx: &ReadTx<'_>, id: &TaskId, words: &TaskFields, before: Option<&TaskFields>) -> Result<()> {
    if let Some(lane) = &words.lane
        && before.is_none_or(|before| before.lane.as_ref() != Some(lane))
    {
        lookup::lane(tx, lane)?;
    }
    if let Some(parent) = &words.parent
        && before.is_none_or(|before| before.parent.as_ref() != Some(parent))
    {
        if parent != id {
            lookup::task(tx, parent)?;
        }
        let up = |task: &TaskId| -> Result<Vec<TaskId>> { Ok(tasks::parent(tx, task)?.into_iter().collect()) };
        if let Some(path) = cycle::closed_by(id, parent, up)? {
            return Err(Refusal::Cycle { path }.into());
        }
    }
    let is_new = |on: &TaskId| before.is_none_or(|before| !before.depends_on.contains(on));
    for on in words.depends_on.iter().filter(|on| is_new(on)) {
        check_dependency(tx, id, on)?;
    }
    Ok(())
}

/// Checks one dependency.
///
/// # Errors
/// `not_found`, `cycle`.
pub fn check_dependency(tx: &ReadTx<'_>, id: &TaskId, on: &TaskId) -> Result<()> {
    if on != id {
        lookup::task(tx, on)?;
    }
    let next = |task: &TaskId| -> Result<Vec<TaskId>> { Ok(tasks::dependencies(tx, task)?) };
    match cycle::closed_by(id, on, next)? {
        Some(path) => Err(Refusal::Cycle { path }.into()),
        None => Ok(()),
    }
}
