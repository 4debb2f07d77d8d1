//! The states of a handoff, each change with its event.

use anyhow::Result;

use crate::actions::{Answer, App, core::lookup};
use crate::{
    domain::{
        Event, EventKind, LaneName, Refusal, Role, TaskId,
        handoff::{Handoff, HandoffStatus},
        rules::handoff as rule,
        session::Session,
        task::Task,
    },
    store::{ReadTx, StoreError, WriteTx, handoffs},
};

/// A handoff and the role of the actor who answers it.
pub(super) struct HandoffForActor {
    pub(super) handoff: Handoff,
    pub(super) role: Option<Role>,
    /// The answer to a repeat: the actor has given the same answer before.
    pub(super) repeat_answer: Option<Answer>,
}

pub(super) fn find(tx: &ReadTx<'_>, id: i64) -> Result<Handoff> {
    handoffs::find(tx, id)?.ok_or_else(|| Refusal::not_found("handoff", id.to_string()).into())
}

/// The open handoff of a task.
pub(crate) fn open_of_task(tx: &ReadTx<'_>, task: &TaskId) -> Result<Option<Handoff>, StoreError> {
    Ok(handoffs::of_task(tx, task)?.into_iter().find(|handoff| handoff.status == HandoffStatus::Open))
}

/// Loads a handoff that the actor answers with `status`.
pub(super) fn load_for(app: &App, tx: &ReadTx<'_>, id: i64, status: HandoffStatus) -> Result<HandoffForActor> {
    let handoff = find(tx, id)?;
    let (role, lane): (Option<Role>, Option<LaneName>) = lookup::effective_scope(tx, &app.actor)?;
    let repeated = repeat_answer(app, &handoff, status)?;
    if repeated.is_none() {
        rule::check_answerable(&handoff, role.as_ref(), lane.as_ref())?;
    }
    Ok(HandoffForActor { handoff, role, repeat_answer: repeated })
}

/// The answer to a repeat: the same actor has given this answer already. Nothing changes.
pub(super) fn repeat_answer(app: &App, handoff: &Handoff, status: HandoffStatus) -> Result<Option<Answer>> {
    if handoff.status != status || !handoff.answered_by.as_deref().is_some_and(|by| app.actor.is_named(by)) {
        return Ok(None);
    }
    let line = format!("unchanged: handoff {} is {status} already", handoff.id);
    Answer::new(handoff, handoff.id, line).map(Some)
}

/// Adds a handoff, with its event. `of` is the creating session, if that is not the acting one.
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

/// Whether a task can be handed over.
///
/// # Errors
/// `wrong_state` when it is closed.
pub(crate) fn require_open(task: &Task) -> Result<(), Refusal> {
    let status = task.state.status();
    if status.is_closed() {
        return Err(Refusal::WrongState { task: task.id.clone(), status, verb: "handed over" });
    }
    Ok(())
}

/// Writes an answer and its event.
pub(super) fn record_answer(
    tx: &WriteTx<'_>,
    handoff: Handoff,
    status: HandoffStatus,
    reason: Option<&str>,
) -> Result<Handoff> {
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
