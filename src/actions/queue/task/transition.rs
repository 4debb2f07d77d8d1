//! State transitions of tasks, for all verbs except `claim`.

use anyhow::Result;

use crate::{
    actions::{
        Answer, App,
        core::{force_reason::ForceReason, lookup},
    },
    domain::{
        Event, EventKind, LaneName, Refusal, TaskId,
        claim::ClaimEnd,
        rules::fencing::TaskWrite,
        task::{Task, TaskState, TaskStatus},
        text_limits,
    },
    env::Timestamp,
    store::{WriteTx, claims, events, tasks},
};

/// One state transition.
pub struct Transition<'a> {
    pub kind: EventKind,
    /// The permission it needs.
    pub intent: TaskWrite,
    /// The verb in the answer: "released".
    pub past_tense: &'static str,
    /// The verb's own reason.
    pub reason: Option<&'a str>,
    /// Overrides the claimant.
    pub force: Option<&'a ForceReason>,
}

/// Performs a transition as one change.
///
/// # Errors
/// `wrong_state`, `stale_claim`, `not_claimant`, and the errors of `next`.
pub fn perform(
    app: &App,
    id: &TaskId,
    verb: &Transition<'_>,
    next: impl FnOnce(&WriteTx<'_>, &Task, Timestamp) -> Result<TaskState>,
) -> Result<Answer> {
    perform_and(app, id, verb, next, |_, answer| Ok(answer))
}

/// As [`perform`]; `also` completes the answer, which is stored under a `--request-id`.
pub fn perform_and(
    app: &App,
    id: &TaskId,
    verb: &Transition<'_>,
    next: impl FnOnce(&WriteTx<'_>, &Task, Timestamp) -> Result<TaskState>,
    also: impl FnOnce(&Task, Answer) -> Result<Answer>,
) -> Result<Answer> {
    check_reasons(verb)?;
    app.mutate(|tx| perform_in(app, tx, id, verb, next, also))
}

/// Checks the reasons that the caller gives.
///
/// # Errors
/// `invalid_value`.
pub fn check_reasons(verb: &Transition<'_>) -> Result<(), Refusal> {
    for reason in verb.reason.into_iter().chain(verb.force.map(|force| force.reason.as_str())) {
        text_limits::check_line("reason", reason)?;
    }
    Ok(())
}

/// A transition as one step of a change.
pub fn perform_in(
    app: &App,
    tx: &WriteTx<'_>,
    id: &TaskId,
    verb: &Transition<'_>,
    next: impl FnOnce(&WriteTx<'_>, &Task, Timestamp) -> Result<TaskState>,
    also: impl FnOnce(&Task, Answer) -> Result<Answer>,
) -> Result<Answer> {
    let task = lookup::task(tx, id)?;
    if let Some(answer) = repeat_answer(app, tx, &task, verb)? {
        return Ok(answer);
    }
    // Force overrides the claimant, not an epoch that the caller gives.
    let intent = if verb.force.is_some() { TaskWrite::Override } else { verb.intent };
    lookup::check_authority(tx, &task, &app.actor, intent)?;
    let state = next(tx, &task, tx.now())?;
    apply(tx, &task, &state, verb)?;
    let line = format!("{} {id}: {} → {}", verb.past_tense, task.state.status(), state.status());
    also(&task, Answer::new(&lookup::task_view(tx, id)?, id, line)?)
}

/// The answer to a repeat: the same actor has made this transition already. Nothing changes.
fn repeat_answer(app: &App, tx: &WriteTx<'_>, task: &Task, verb: &Transition<'_>) -> Result<Option<Answer>> {
    let fenced = app.actor.epoch.is_some_and(|epoch| epoch != task.epoch);
    let newest = events::newest_transition(tx, &task.id)?;
    // A review that refuses the work resumes the task, and its author may do so again.
    let by_any = verb.kind == EventKind::TaskResumed;
    let same =
        newest.is_some_and(|event| event.kind == verb.kind.as_str() && (by_any || event.actor == app.actor.name));
    if fenced || !same {
        return Ok(None);
    }
    let line = format!("unchanged: {} is {} already", task.id, task.state.status());
    Answer::new(&lookup::task_view(tx, &task.id)?, &task.id, line).map(Some)
}

/// Writes the new state, ends the claim of a task that is no longer claimed, and records the event.
pub fn apply(tx: &WriteTx<'_>, task: &Task, state: &TaskState, verb: &Transition<'_>) -> Result<()> {
    apply_with(tx, task, state, verb, |event| event)
}

/// As [`apply`]; `complete` adds to the event.
pub fn apply_with(
    tx: &WriteTx<'_>,
    task: &Task,
    state: &TaskState,
    verb: &Transition<'_>,
    complete: impl FnOnce(Event) -> Event,
) -> Result<()> {
    tasks::set_state(tx, task, state)?;
    let mut unassigned = None;
    if task.state.status().is_claimed() && !state.status().is_claimed() {
        let how = match state.status() {
            TaskStatus::Done => ClaimEnd::Done,
            TaskStatus::Cancelled => ClaimEnd::Cancelled,
            _ => ClaimEnd::Released,
        };
        if how == ClaimEnd::Released {
            unassigned = take_back_lane(tx, task)?;
        }
        claims::end(tx, &task.id, how)?;
    }
    let mut event = Event::new(verb.kind)
        .task(&task.id)
        .lane(task.fields.lane.as_ref())
        .with("from", task.state.status().as_str())
        .with("to", state.status().as_str())
        .with("epoch", task.epoch)
        .with("reason", verb.reason)
        .with("unassigned_lane", unassigned.map(|lane| lane.to_string()));
    if let Some(force) = verb.force {
        let holder = task.state.claim().map(|claim| claim.claimant.clone());
        event = event.with("forced", true).with("force_reason", force.reason.as_str()).with("holder", holder);
    }
    tx.record(&complete(event))?;
    Ok(())
}

/// Takes a task out of the lane into which its claim had put it. Returns that lane.
fn take_back_lane(tx: &WriteTx<'_>, task: &Task) -> Result<Option<LaneName>> {
    let place = claims::newest(tx, &task.id)?.map(|claim| claim.place).unwrap_or_default();
    let assigned = place.lane.filter(|lane| place.assigned_lane && task.fields.lane.as_ref() == Some(lane));
    if assigned.is_some() {
        tasks::set_lane(tx, &task.id, None)?;
    }
    Ok(assigned)
}
