//! Handoffs: offer a task to another role or lane, and accept, decline, withdraw and list the offers.

use anyhow::Result;

use crate::core::{ForceReason, lookup};
use crate::{Answer, App};
use fairway_core::domain::handoff::{Handoff, HandoffStatus};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::rules::handoff as rule;
use fairway_core::domain::session::Session;
use fairway_core::domain::task::Task;
use fairway_core::domain::{Event, EventKind, LaneName, Refusal, Role, TaskId, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, StoreError, WriteTx, handoffs};

pub mod accept;
mod work;

struct HandoffForActor {
    handoff: Handoff,
    role: Option<Role>,
    /// The answer for an actor who gave the same answer before.
    repeat_answer: Option<Answer>,
}

fn find(tx: &ReadTx<'_>, id: i64) -> Result<Handoff> {
    handoffs::find(tx, id)?.ok_or_else(|| Refusal::not_found("handoff", id.to_string()).into())
}

pub(crate) fn open_of_task(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<Handoff>, StoreError> {
    Ok(handoffs::of_task(tx, task)?.into_iter().find(|handoff| handoff.status == HandoffStatus::Open))
}

/// Loads a handoff and checks that the actor may answer it with `status`.
fn load_for(app: &App, tx: &ReadTx<'_>, id: i64, status: HandoffStatus) -> Result<HandoffForActor> {
    let handoff = find(tx, id)?;
    let (role, lane): (Option<Role>, Option<LaneName>) = lookup::effective_scope(tx, &app.actor)?;
    let repeated = repeat_answer(app, &handoff, status)?;
    if repeated.is_none() {
        rule::check_answerable(&handoff, role.as_ref(), lane.as_ref())?;
    }
    Ok(HandoffForActor { handoff, role, repeat_answer: repeated })
}

/// The answer when the same actor has given this answer before; nothing is written.
fn repeat_answer(app: &App, handoff: &Handoff, status: HandoffStatus) -> Result<Option<Answer>> {
    if handoff.status != status || !handoff.answered_by.as_deref().is_some_and(|by| app.actor.is_named(by)) {
        return Ok(None);
    }
    let line = format!("unchanged: handoff {} is {status} already", handoff.id);
    Answer::new(handoff, handoff.id, line).map(Some)
}

/// Records a handoff with its event. `of` is the session that creates the handoff, when that is not the acting session.
pub(crate) fn insert(tx: &WriteTx<'_>, handoff: Handoff, of: Option<&Session>) -> Result<Handoff, StoreError> {
    let handoff = handoffs::insert(tx, handoff)?;
    let event = event(EventKind::HandoffCreated, &handoff)
        .with("epoch", handoff.epoch)
        .with("summary", handoff.summary.as_str());
    tx.record(&match of {
        Some(session) => event.session(&session.id, &session.run_id),
        None => event,
    })?;
    Ok(handoff)
}

/// Refuses to hand over a closed task.
pub(crate) fn require_open(task: &Task) -> Result<(), Refusal> {
    let status = task.state.status();
    if status.is_closed() {
        return Err(Refusal::WrongState { task: task.id.clone(), status, verb: "handed over" });
    }
    Ok(())
}

fn record_answer(tx: &WriteTx<'_>, handoff: Handoff, status: HandoffStatus, reason: Option<&str>) -> Result<Handoff> {
    let kind = match status {
        HandoffStatus::Declined => EventKind::HandoffDeclined,
        HandoffStatus::Withdrawn => EventKind::HandoffWithdrawn,
        HandoffStatus::Open | HandoffStatus::Accepted => EventKind::HandoffAccepted,
    };
    let handoff = handoffs::answer(tx, handoff, status, reason)?;
    tx.record(&event(kind, &handoff).with("reason", reason))?;
    Ok(handoff)
}

fn event(kind: EventKind, handoff: &Handoff) -> Event {
    Event::new(kind)
        .task(&handoff.task)
        .lane(handoff.to_lane.as_ref())
        .with("id", handoff.id)
        .with("to_role", handoff.to_role.as_ref().map(ToString::to_string))
        .with("to_lane", handoff.to_lane.as_ref().map(ToString::to_string))
}

#[derive(Debug, Clone)]
pub struct NewHandoff {
    pub to_role: Option<Role>,
    pub to_lane: Option<LaneName>,
    pub summary: String,
    pub payload: Option<String>,
}

/// Creates an open handoff under the task's current epoch. The claim stays until the handoff is accepted with the
/// claim.
///
/// # Errors
/// `already_offered` while another handoff of the task is open.
pub fn create(app: &App, id: &TaskId, new: &NewHandoff) -> Result<Answer> {
    let summary = text_limits::check_line("summary", &new.summary)?;
    let payload = new.payload.as_deref().map(|payload| text_limits::check_body("payload", payload)).transpose()?;
    app.mutate(|tx| {
        let task = lookup::task(tx, id)?;
        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
        require_open(&task)?;
        if let Some(open) = open_of_task(tx, id)? {
            let is_same = app.actor.is_named(&open.from_actor)
                && (&open.to_role, &open.to_lane) == (&new.to_role, &new.to_lane)
                && (&open.summary, &open.payload) == (&summary, &payload);
            if !is_same {
                let (to, is_yours) = (open.recipient(), app.actor.is_named(&open.from_actor));
                return Err(Refusal::AlreadyOffered { task: id.clone(), handoff: open.id, to, is_yours }.into());
            }
            let line = format!("unchanged: handoff {} of {id} to {} is open already", open.id, open.recipient());
            return Answer::new(&open, open.id, line);
        }
        if let Some(lane) = &new.to_lane {
            lookup::lane(tx, lane)?;
        }
        let handoff = insert(
            tx,
            Handoff {
                id: 0,
                task: id.clone(),
                from_role: lookup::effective_scope(tx, &app.actor)?.0,
                from_actor: app.actor.name.clone(),
                to_role: new.to_role.clone(),
                to_lane: new.to_lane.clone(),
                status: HandoffStatus::Open,
                summary: summary.clone(),
                payload: payload.clone(),
                epoch: task.epoch,
                created_at: Timestamp::from_millis(0),
                answered_at: None,
                answered_by: None,
            },
            None,
        )?;
        let line = format!("created handoff {} of {id} to {}", handoff.id, handoff.recipient());
        Answer::new(&handoff, handoff.id, line)
    })
}

/// Declines an open handoff; the actor must have the role, or be in the lane, that the handoff is for.
///
/// # Errors
/// `already_answered`, `role_mismatch`, `lane_mismatch`.
pub fn decline(app: &App, id: i64, reason: &str) -> Result<Answer> {
    let reason = text_limits::check_line("reason", reason)?;
    app.mutate(|tx| {
        let asked = load_for(app, tx, id, HandoffStatus::Declined)?;
        if let Some(answer) = asked.repeat_answer {
            return Ok(answer);
        }
        let handoff = record_answer(tx, asked.handoff, HandoffStatus::Declined, Some(&reason))?;
        Answer::new(&handoff, id, format!("declined handoff {id} of {}", handoff.task))
    })
}

/// Withdraws an open handoff. Only its creator may do so, any other actor only with `force`.
///
/// # Errors
/// `already_answered`, `not_creator`.
pub fn withdraw(app: &App, id: i64, force: Option<&ForceReason>) -> Result<Answer> {
    let reason = force.map(|force| text_limits::check_line("reason", &force.reason)).transpose()?;
    app.mutate(|tx| {
        let handoff = find(tx, id)?;
        if let Some(answer) = repeat_answer(app, &handoff, HandoffStatus::Withdrawn)? {
            return Ok(answer);
        }
        if handoff.status != HandoffStatus::Open {
            return Err(Refusal::AlreadyAnswered { noun: "handoff", id, status: handoff.status.as_str() }.into());
        }
        if !app.actor.is_named(&handoff.from_actor) && force.is_none() {
            let (by, you) = (handoff.from_actor, app.actor.name.clone());
            return Err(Refusal::NotCreator { noun: "handoff", id, by, you, may_force: true }.into());
        }
        let handoff = record_answer(tx, handoff, HandoffStatus::Withdrawn, reason.as_deref())?;
        Answer::new(&handoff, id, format!("withdrew handoff {id} of {}", handoff.task))
    })
}

#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub to_role: Option<Role>,
    pub task: Option<TaskId>,
    pub open: bool,
}

pub fn list(app: &App, filter: &Filter) -> Result<Vec<Handoff>> {
    app.read(|tx| {
        let found = match &filter.task {
            Some(task) => {
                lookup::task(tx, task)?;
                handoffs::of_task(tx, task)?
            }
            None => handoffs::all(tx, filter.open)?,
        };
        Ok(found
            .into_iter()
            .filter(|handoff| !filter.open || handoff.status == HandoffStatus::Open)
            .filter(|handoff| filter.to_role.is_none() || handoff.to_role == filter.to_role)
            .collect())
    })
}
