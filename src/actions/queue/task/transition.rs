//! Moving a task from one state to another: one way for all verbs but `claim`.

use anyhow::Result;

use crate::{
    actions::{
        Answer, App,
        core::{force_reason::ForceReason, lookup},
    },
    domain::{
        Event, EventKind, TaskId,
        claim::ClaimEnd,
        rules::fencing::TaskWrite,
        task::{Task, TaskState, TaskStatus},
        text_limits,
    },
    env::Timestamp,
    store::{WriteTx, claims, events, tasks},
};

/// One verb that moves tasks.
pub struct Transition<'a> {
    /// What it records.
    pub kind: EventKind,
    /// Who may.
    pub intent: TaskWrite,
    /// What the answer calls it: "released".
    pub past_tense: &'static str,
    /// The reason that the verb itself takes.
    pub reason: Option<&'a str>,
    /// Stands in for the claimant.
    pub force: Option<&'a ForceReason>,
}

/// Runs a move as a change of its own.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`, and what `next` refuses.
pub fn perform(
    app: &App,
    id: &TaskId,
    verb: &Transition<'_>,
    next: impl FnOnce(&WriteTx<'_>, &Task, Timestamp) -> Result<TaskState>,
) -> Result<Answer> {
    for reason in verb.reason.into_iter().chain(verb.force.map(|force| force.reason.as_str())) {
        text_limits::check_line("reason", reason)?;
    }
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        if let Some(answer) = repeat_answer(app, tx, &task, verb)? {
            return Ok(answer);
        }
        // Force stands in for the claimant, not for the epoch that the caller names.
        let intent = if verb.force.is_some() { TaskWrite::Override } else { verb.intent };
        lookup::check_authority(tx, &task, &app.actor, intent)?;
        let state = next(tx, &task, tx.now())?;
        apply(tx, &task, &state, verb)?;
        Answer::new(
            &lookup::task_view(tx, id)?,
            id,
            format!("{} {id}: {} → {}", verb.past_tense, task.state.status(), state.status()),
        )
    })
}

/// Repeating what the same actor already brought about changes nothing and is no failure.
fn repeat_answer(app: &App, tx: &WriteTx<'_>, task: &Task, verb: &Transition<'_>) -> Result<Option<Answer>> {
    let fenced = app.actor.epoch.is_some_and(|epoch| epoch != task.epoch);
    let newest = events::newest_transition(tx, &task.id)?;
    let same = newest.is_some_and(|event| event.kind == verb.kind.as_str() && event.actor == app.actor.name);
    if fenced || !same {
        return Ok(None);
    }
    let line = format!("unchanged: {} is {} already", task.id, task.state.status());
    Answer::new(&lookup::task_view(tx, &task.id)?, &task.id, line).map(Some)
}

/// Writes the new state, ends the claim when the task is not held any more, and records the event.
///
/// # Errors
/// As the store fails.
pub fn apply(tx: &WriteTx<'_>, task: &Task, state: &TaskState, verb: &Transition<'_>) -> Result<()> {
    tasks::set_state(tx, task, state)?;
    if task.state.status().is_claimed() && !state.status().is_claimed() {
        let how = match state.status() {
            TaskStatus::Done => ClaimEnd::Done,
            TaskStatus::Cancelled => ClaimEnd::Cancelled,
            _ => ClaimEnd::Released,
        };
        claims::end(tx, &task.id, how)?;
    }
    let mut event = Event::new(verb.kind)
        .task(&task.id)
        .lane(task.fields.lane.as_ref())
        .with("from", task.state.status().as_str())
        .with("to", state.status().as_str())
        .with("epoch", task.epoch)
        .with("reason", verb.reason);
    if let Some(force) = verb.force {
        let holder = task.state.claim().map(|claim| claim.claimant.clone());
        event = event.with("forced", true).with("force_reason", force.reason.as_str()).with("holder", holder);
    }
    tx.record(&event)?;
    Ok(())
}
