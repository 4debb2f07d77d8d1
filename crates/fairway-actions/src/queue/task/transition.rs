//! State transitions of tasks, except `claim`, `release` and `done`.

use anyhow::Result;

use super::handed_in::{self, HandedIn};
use crate::core::{ForceReason, lookup};
use crate::queue::review::seen_commits;
use crate::{Answer, App};
use fairway_core::domain::claim::ClaimEnd;
use fairway_core::domain::review::Verdict;
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::task::{Task, TaskState, TaskStatus};
use fairway_core::domain::{Event, EventKind, LaneName, Refusal, TaskId, commit_id, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::store::{WriteTx, claims, events, landings, reviews, tasks};

pub struct Transition<'a> {
    pub kind: EventKind,
    /// The permission that the transition needs.
    pub intent: TaskWrite,
    /// The verb of the answer, such as "released".
    pub past_tense: &'static str,
    /// The reason that belongs to the transition itself.
    pub reason: Option<&'a str>,
    /// Lets another actor than the claimant make the transition.
    pub force: Option<&'a ForceReason>,
}

impl<'a> Transition<'a> {
    /// A transition without a reason and without force. `intent` decides who may make it; `past_tense` begins the line of its
    /// answer.
    pub const fn new(kind: EventKind, intent: TaskWrite, past_tense: &'static str) -> Self {
        Self { kind, intent, past_tense, reason: None, force: None }
    }

    const fn because(self, reason: &'a str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// Returns this transition; when `force` is given, actors other than the claimant may make it too.
    #[must_use]
    pub const fn forced(self, force: Option<&'a ForceReason>) -> Self {
        Self { force, ..self }
    }
}

/// Performs a transition in one transaction. `next` computes the new state from the task. When this is the task's newest
/// transition already, made by the same actor, nothing changes and the answer says so.
///
/// # Errors
/// `stale_claim` and `not_claimant` when the actor may not make the transition; the errors of `next`.
pub fn perform(
    app: &App,
    id: &TaskId,
    verb: &Transition<'_>,
    next: impl FnOnce(&WriteTx<'_>, &Task, Timestamp) -> Result<TaskState>,
) -> Result<Answer> {
    perform_and(app, id, verb, next, |_, answer| Ok(answer))
}

/// Like [`perform`]. `also` completes the answer before the answer is stored under a `--request-id`.
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

pub fn check_reasons(verb: &Transition<'_>) -> Result<(), Refusal> {
    for reason in verb.reason.into_iter().chain(verb.force.map(|force| force.reason.as_str())) {
        text_limits::check_line("reason", reason)?;
    }
    Ok(())
}

/// Like [`perform_and`], in the transaction of the caller.
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

/// The answer when the same actor has made this transition before; nothing is written.
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

/// Like [`apply`]. `complete` adds data to the event.
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

/// Takes a task out of the lane into which its claim had put it, and returns that lane.
fn take_back_lane(tx: &WriteTx<'_>, task: &Task) -> Result<Option<LaneName>> {
    let place = claims::newest(tx, &task.id)?.map(|claim| claim.place).unwrap_or_default();
    let assigned = place.lane.filter(|lane| place.assigned_lane && task.fields.lane.as_ref() == Some(lane));
    if assigned.is_some() {
        tasks::set_lane(tx, &task.id, None)?;
    }
    Ok(assigned)
}

/// Moves a task from `in_progress` to `blocked`, for its claimant or with `force`. The claim stays.
pub fn block(app: &App, id: &TaskId, reason: &str, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition::new(EventKind::TaskBlocked, TaskWrite::Transition, "blocked").because(reason).forced(force);
    perform(app, id, &verb, |_, task, _| Ok(task.blocked(reason.to_owned())?))
}

/// Moves a task from `blocked` to `in_progress`, for its claimant or with `force`.
pub fn unblock(app: &App, id: &TaskId, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition::new(EventKind::TaskUnblocked, TaskWrite::Transition, "unblocked").forced(force);
    perform(app, id, &verb, |_, task, _| Ok(task.unblocked()?))
}

/// Cancels an open task. Any actor may cancel an unclaimed task; a claimed one only its claimant, or any actor with `force`.
pub fn cancel(app: &App, id: &TaskId, reason: &str, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition::new(EventKind::TaskCancelled, TaskWrite::Cancel, "cancelled").because(reason).forced(force);
    let answer = perform(app, id, &verb, |_, task, now| Ok(task.cancelled(now)?))?;
    seen_commits::forget_closed(app);
    Ok(answer)
}

/// Moves a task from `in_progress` to `review`, for its claimant or with `force`, and clears the lease. The commit `commit`, else
/// the one that is checked out where the task is worked on, is the work from then on. Work in review that has another commit is
/// submitted again.
///
/// # Errors
/// Those of [`handed_in::find`]; `wrong_state`, `not_claimant`, `stale_claim`.
pub fn submit(app: &App, id: &TaskId, commit: Option<&str>, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = Transition::new(EventKind::TaskSubmitted, TaskWrite::Transition, "submitted").forced(force);
    check_reasons(&verb)?;
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let task = app.read(|tx| lookup::task(tx, id))?;
    // Another state refuses the submission, whatever the commit is.
    let is_submittable = matches!(task.state.status(), TaskStatus::InProgress | TaskStatus::Review);
    let work = match commit {
        _ if !is_submittable => HandedIn::default(),
        Some(commit) => handed_in::named(app, id, commit, &["task", "submit"])?,
        None => handed_in::find(app, id, &["task", "submit"])?,
    };
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        match work.commit.as_deref().filter(|commit| task.commit.as_deref() != Some(commit)) {
            Some(other) if task.state.status() == TaskStatus::Review => {
                submit_again(app, tx, &task, other, &work, &verb)
            }
            _ => perform_in(
                app,
                tx,
                id,
                &verb,
                |tx, task, _| {
                    let submitted = task.submitted()?;
                    work.record(tx, task)?;
                    Ok(submitted)
                },
                |_, answer| Ok(work.told(answer)),
            ),
        }
    })
}

/// Records another commit for work in review. For its reviewers that is a new submission.
fn submit_again(
    app: &App,
    tx: &WriteTx<'_>,
    task: &Task,
    commit: &str,
    work: &HandedIn,
    verb: &Transition<'_>,
) -> Result<Answer> {
    let intent = if verb.force.is_some() { TaskWrite::Override } else { verb.intent };
    lookup::check_authority(tx, task, &app.actor, intent)?;
    work.record(tx, task)?;
    apply(tx, task, &task.state, verb)?;
    let line = format!("submitted {} again, at {}", task.id, commit_id::short(commit));
    let answer = Answer::new(&lookup::task_view(tx, &task.id)?, &task.id, line)?;
    Ok(answer.with_notes(work.notes.clone()))
}

/// Moves a task from `done` or `cancelled` to `todo`. Any actor may do so.
pub fn reopen(app: &App, id: &TaskId, reason: &str) -> Result<Answer> {
    let verb = Transition::new(EventKind::TaskReopened, TaskWrite::Override, "reopened").because(reason);
    perform(app, id, &verb, |tx, task, _| {
        landings::set_landed_commit(tx, id, None)?;
        Ok(task.reopened()?)
    })
}

/// Moves a task from `review` to `in_progress`, because its work is sent back to its author. Does nothing in another state.
pub fn send_back(tx: &WriteTx<'_>, task: &Task, reason: &str) -> Result<()> {
    let TaskState::Review(_) = &task.state else { return Ok(()) };
    let verb = Transition::new(EventKind::TaskResumed, TaskWrite::Override, "resumed").because(reason);
    apply(tx, task, &task.resumed()?, &verb)
}

/// Moves a task from `review` to `in_progress`, for its claimant, for the last reviewer who asked for changes, or with `force`.
/// The claim stays.
pub fn resume(app: &App, id: &TaskId, force: Option<&ForceReason>) -> Result<Answer> {
    // Checked like a new record; the closure decides about the permission.
    let verb = Transition::new(EventKind::TaskResumed, TaskWrite::AddRecord, "resumed").forced(force);
    perform(app, id, &verb, |tx, task, _| {
        let resumed = task.resumed()?;
        let you = &app.actor;
        let holder = task.state.claim().map(|claim| claim.claimant.as_str()).unwrap_or_default();
        let asked = reviews::of_task(tx, id)?.into_iter().rfind(|review| review.verdict == Some(Verdict::Changes));
        if force.is_none() && !you.is_named(holder) && asked.is_none_or(|review| !you.is_named(&review.actor)) {
            let can_continue = lookup::can_continue(tx, task, you)?;
            let (task, by, you) = (id.clone(), holder.to_owned(), you.name.clone());
            return Err(Refusal::NotClaimant { task, by, you, can_continue }.into());
        }
        Ok(resumed)
    })
}
