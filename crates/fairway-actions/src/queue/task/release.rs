//! Releases claims: one, several, all of one's own, or those of dead sessions.

use anyhow::Result;

use super::claim::StartClaim;
use super::transition::{self, Transition};
use crate::core::dead_session::DeadSession;
use crate::core::{ForceReason, lookup};
use crate::{Answer, App};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::session::Session;
use fairway_core::domain::task::{Task, TaskState, TaskStatus};
use fairway_core::domain::{Event, EventKind, LaneName, SessionId, TaskId};
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::store::{ReadTx, StoreError, WriteTx, claims, sessions};
use fairway_core::wire::{ReleasedView, TaskView};

fn verb<'a>(reason: Option<&'a str>, force: Option<&'a ForceReason>) -> Transition<'a> {
    Transition { kind: EventKind::TaskReleased, intent: TaskWrite::Transition, past_tense: "released", reason, force }
}

/// Releases a claim: the task becomes `todo`. Only its claimant may do so, any other actor only with `force`. When the claim had
/// put the task into a lane, the task leaves that lane.
pub fn release(app: &App, id: &TaskId, reason: Option<&str>, force: Option<&ForceReason>) -> Result<Answer> {
    transition::perform(app, id, &verb(reason, force), |_, task, _| Ok(task.released()?))
}

/// Releases the claims on several tasks, all or none.
pub fn release_several(app: &App, ids: &[TaskId], reason: Option<&str>, force: Option<&ForceReason>) -> Result<Answer> {
    let verb = verb(reason, force);
    transition::check_reasons(&verb)?;
    app.mutate(|tx| release_each(app, tx, ids, &verb))
}

/// Releases the claims of the actor, or with `force` of all claimants, in one lane or in all.
pub fn release_held(
    app: &App,
    lane: Option<&LaneName>,
    reason: Option<&str>,
    force: Option<&ForceReason>,
) -> Result<Answer> {
    let verb = verb(reason, force);
    transition::check_reasons(&verb)?;
    app.mutate(|tx| {
        let held = claimed_in(tx, lane)?;
        let is_meant = |task: &&Task| {
            force.is_some() || task.state.claim().is_some_and(|claim| app.actor.is_named(&claim.claimant))
        };
        let ids: Vec<TaskId> = held.iter().filter(is_meant).map(|task| task.id.clone()).collect();
        release_each(app, tx, &ids, &verb)
    })
}

/// Releases the claims of dead sessions, in one lane or in all, and ends the sessions whose claims it released. `tasks`, when
/// not empty, limits this to the claims on these tasks. Work in review stays for its reviewer.
pub fn release_dead(
    app: &App,
    dead: &[DeadSession],
    lane: Option<&LaneName>,
    tasks: &[TaskId],
    reason: Option<&str>,
) -> Result<Answer> {
    transition::check_reasons(&verb(reason, None))?;
    app.mutate(|tx| {
        let mut released = Released::default();
        let mut held = claimed_in(tx, lane)?;
        for id in tasks {
            lookup::task(tx, id)?;
        }
        held.retain(|task| tasks.is_empty() || tasks.contains(&task.id));
        for one in dead {
            let Some(session) = one.confirm(tx)? else { continue };
            let is_theirs = |task: &&Task| task.state.claim().and_then(|claim| claim.session.as_ref()) == Some(&one.id);
            let mut has_released = false;
            for task in held.iter().filter(is_theirs) {
                if released.keeps_in_review(task, one.id.as_str()) {
                    continue;
                }
                let why = format!("{} is dead: {}", one.id, one.why);
                let say = |event: Event| {
                    event.with("dead", true).with("holder", one.id.as_str()).with("proof", one.why.as_str())
                };
                transition::apply_with(tx, task, &TaskState::Todo, &verb(reason, None), say)?;
                let line = format!("released {}: {} → todo ({why})", task.id, task.state.status());
                released.add(tx, &task.id, line)?;
                has_released = true;
            }
            if has_released {
                one.end(tx, &session)?;
            }
        }
        released.answer("no claim of a dead session")
    })
}

/// Releases the claims of the sessions for which `is_meant` returns true. Work in review stays for its reviewer.
pub fn release_where(tx: &WriteTx<'_>, is_meant: &dyn Fn(&Session) -> bool, reason: &str) -> Result<Released> {
    let mut released = Released::default();
    for task in claimed_in(tx, None)? {
        let Some(claim) = task.state.claim() else { continue };
        let session = claim.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten();
        if !session.as_ref().is_some_and(is_meant) {
            continue;
        }
        if released.keeps_in_review(&task, &claim.claimant) {
            continue;
        }
        let holder = claim.claimant.clone();
        let say = |event: Event| event.with("holder", holder.as_str());
        transition::apply_with(tx, &task, &TaskState::Todo, &verb(Some(reason), None), say)?;
        released.add(tx, &task.id, format!("released {}: {} → todo ({holder})", task.id, task.state.status()))?;
    }
    Ok(released)
}

/// Releases the claim of a session whose start failed. The claim stays when it continues an earlier one, or when the task's
/// status has changed under it.
pub fn release_failed_start(tx: &WriteTx<'_>, session: &SessionId, claim: &StartClaim) -> Result<()> {
    let task = lookup::task(tx, &claim.task)?;
    let is_unchanged = matches!(&task.state, TaskState::InProgress(now)
        if now.epoch == claim.epoch && now.session.as_ref() == Some(session));
    if claim.is_continued || !is_unchanged {
        return Ok(());
    }
    let reason = format!("the start of {session} failed");
    transition::apply(tx, &task, &TaskState::Todo, &verb(Some(&reason), None))
}

/// The claimed tasks of a lane and of its sessions; without a lane all.
fn claimed_in(tx: &ReadTx<'_>, lane: Option<&LaneName>) -> Result<Vec<Task>> {
    if let Some(lane) = lane {
        lookup::lane(tx, lane)?;
    }
    let mut held = Vec::new();
    tasks::for_each(tx, ListScope::Claimed, |task| {
        let is_meant = match lane {
            None => true,
            Some(lane) if task.fields.lane.as_ref() == Some(lane) => true,
            Some(lane) => made_in(tx, &task)?.as_ref() == Some(lane),
        };
        if is_meant {
            held.push(task);
        }
        Ok(true)
    })?;
    Ok(held)
}

fn made_in(tx: &ReadTx<'_>, task: &Task) -> Result<Option<LaneName>, StoreError> {
    Ok(claims::newest(tx, &task.id)?.and_then(|claim| claim.place.lane))
}

fn release_each(app: &App, tx: &WriteTx<'_>, ids: &[TaskId], verb: &Transition<'_>) -> Result<Answer> {
    let mut released = Released::default();
    for id in ids {
        let next = |_: &WriteTx<'_>, task: &Task, _| Ok(task.released()?);
        let done = transition::perform_in(app, tx, id, verb, next, |_, answer| Ok(answer))?;
        released.add(tx, id, done.line)?;
    }
    released.answer("no claim to release")
}

#[derive(Debug, Default)]
pub struct Released {
    tasks: Vec<TaskView>,
    ids: Vec<String>,
    lines: Vec<String>,
    notes: Vec<String>,
}

impl Released {
    /// Whether a task is in review and so stays claimed; then adds a note about it.
    fn keeps_in_review(&mut self, task: &Task, holder: &str) -> bool {
        let is_in_review = task.state.status() == TaskStatus::Review;
        if is_in_review {
            let note = format!("{} of {holder} is in review and stays: fairway release {0}", task.id);
            self.notes.push(format!("{note} --force --reason TEXT"));
        }
        is_in_review
    }

    fn add(&mut self, tx: &ReadTx<'_>, id: &TaskId, line: String) -> Result<()> {
        self.tasks.push(lookup::task_view(tx, id)?);
        self.ids.push(id.to_string());
        self.lines.push(line);
        Ok(())
    }

    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    pub fn into_notes(self) -> Vec<String> {
        self.notes
    }

    /// Makes the answer of a release. When no claim was released, its line is `unchanged:` and the text `none`.
    pub fn answer(self, none: &str) -> Result<Answer> {
        let line = if self.lines.is_empty() { format!("unchanged: {none}") } else { self.lines.join("\n") };
        let answer = Answer::new(&ReleasedView { tasks: self.tasks }, "", line)?;
        Ok(Answer { ids: self.ids, notes: self.notes, ..answer })
    }
}
