//! Edits a task's fields.

use anyhow::Result;

use super::validate;
use crate::core::lookup;
use crate::{Answer, App};
use fairway_core::domain::rules::claim as rule;
use fairway_core::domain::rules::claim::{ClaimFacts, PathPolicy};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::task::{Task, TaskFields};
use fairway_core::domain::{Event, EventKind, TaskId};
use fairway_core::store::{ReadTx, WriteTx, lanes, tasks};

/// Lets `over` change the fields of a task. Any actor may edit a task, except a session whose claim on it another claim has
/// superseded.
///
/// # Errors
/// `cycle`; for a claimed task also the rules about its lane and its paths.
pub fn edit(app: &App, id: &TaskId, over: impl FnOnce(&mut TaskFields) -> Result<()>) -> Result<Answer> {
    app.mutate(|tx| edit_in(app, tx, id, over))
}

/// Like [`edit`], in the transaction of the caller.
pub(super) fn edit_in(
    app: &App,
    tx: &WriteTx<'_>,
    id: &TaskId,
    over: impl FnOnce(&mut TaskFields) -> Result<()>,
) -> Result<Answer> {
    let task = lookup::task(tx, id)?;
    lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
    let mut fields = task.fields.clone();
    over(&mut fields)?;
    let fields = validate::normalize(fields)?;
    let before = validate::normalize(task.fields.clone())?;
    let changed = changed_fields(&before, &fields);
    if changed.is_empty() {
        return Answer::new(&lookup::task_view(tx, id)?, id, format!("unchanged: {id} has these values already"));
    }
    validate::check_links(tx, id, &fields, Some(&before))?;
    let edited = Task { fields, ..task };
    let note = check_claim_rules(app, tx, &edited, &before)?;
    tasks::set_fields(tx, id, &edited.fields)?;
    let mut event = Event::new(EventKind::TaskEdited)
        .task(id)
        .lane(edited.fields.lane.as_ref())
        .with("fields", changed.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>())
        .with("title", changed.contains(&"title").then(|| edited.fields.title.clone()));
    if changed.contains(&"priority") {
        event = event.with("priority_before", i64::from(before.priority));
    }
    tx.record(&event)?;
    let answer = Answer::new(&lookup::task_view(tx, id)?, id, format!("edited {id}: {}", changed.join(", ")))?;
    Ok(answer.with_notes(note))
}

fn changed_fields(before: &TaskFields, after: &TaskFields) -> Vec<&'static str> {
    let fields = [
        ("title", before.title != after.title),
        ("body", before.body != after.body),
        ("role", before.role != after.role),
        ("lane", before.lane != after.lane),
        ("parent", before.parent != after.parent),
        ("priority", before.priority != after.priority),
        ("labels", before.labels != after.labels),
        ("paths", before.paths != after.paths),
        ("depends_on", before.depends_on != after.depends_on),
        ("checks", before.checks != after.checks),
        ("review_domains", before.review_domains != after.review_domains),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Refuses an edit for which the task's claim would have been refused: a full lane, or paths of another claim. A
/// conflict of paths that the settings permit is returned as a warning.
pub(super) fn check_claim_rules(
    app: &App,
    tx: &ReadTx<'_>,
    task: &Task,
    before: &TaskFields,
) -> Result<Option<String>> {
    let Some(claim) = task.state.claim() else { return Ok(None) };
    if let Some(lane) = task.fields.lane.as_ref().filter(|lane| before.lane.as_ref() != Some(lane))
        && let Some(lane) = lanes::find(tx, lane)?
    {
        rule::check_capacity(&lane, tasks::held_in_lane(tx, &lane.name, Some(&task.id))?)?;
    }
    if task.fields.paths == before.paths {
        return Ok(None);
    }
    let held = tasks::held_paths(tx, &claim.claimant)?;
    let facts =
        ClaimFacts { lane: None, waiting: &[], held_paths: &held, path_policy: app.settings.claims.path_conflicts };
    match rule::path_conflict(task, &[&claim.claimant], &facts) {
        Some(refusal) if app.settings.claims.path_conflicts == PathPolicy::Refuse => Err(refusal.into()),
        conflict => Ok(conflict.map(|conflict| format!("warning: {conflict}"))),
    }
}
