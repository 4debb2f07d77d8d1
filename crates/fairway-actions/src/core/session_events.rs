//! Every change of a session's row: an event goes through the machine, and its effects are written here.

use anyhow::Result;

use super::{approval_state, errors, lookup, message_state};
use fairway_core::domain::event::EventValue;
use fairway_core::domain::rules::session_machine::{self, Report, SessionEffect, SessionEvent};
use fairway_core::domain::session::{Activity, Session, SessionStatus};
use fairway_core::domain::{Event, EventKind, RunId};
use fairway_core::store::{WriteTx, sessions, tasks};

/// Applies an event to a session. `session` is the row as it was read; when it was written since, in this transaction, the event
/// applies to the row as it is now. Returns the session as it is afterwards.
///
/// # Errors
/// Those of [`session_machine::step`].
pub fn apply(tx: &WriteTx<'_>, session: &Session, event: &SessionEvent<'_>) -> Result<Session> {
    match apply_unless_changed(tx, session, event)? {
        Some(after) => Ok(after),
        None => apply_unless_changed(tx, &lookup::session(tx, &session.id)?, event)?
            .ok_or_else(|| errors::internal(format!("the session {} changed under an open transaction", session.id))),
    }
}

/// Applies an event to a session that is still as it was read. Returns `None` when its row has changed since: what was judged
/// may be true no longer.
///
/// # Errors
/// Those of [`session_machine::step`].
pub fn apply_unless_changed(tx: &WriteTx<'_>, before: &Session, event: &SessionEvent<'_>) -> Result<Option<Session>> {
    let step = session_machine::step(before, event, tx.now())?;
    let mut after = step.after;
    // First of all: the other effects are those of a row that is written.
    for effect in &step.effects {
        let is_written = match effect {
            SessionEffect::Write => sessions::update(tx, &after)?,
            SessionEffect::Touch => sessions::touch(tx, &after)?,
            _ => continue,
        };
        if !is_written {
            return Ok(None);
        }
        after.version += 1;
    }
    for effect in step.effects {
        carry_out(tx, before, &after, effect)?;
    }
    Ok(Some(after))
}

fn carry_out(tx: &WriteTx<'_>, before: &Session, after: &Session, effect: SessionEffect<'_>) -> Result<()> {
    let about = |kind| Event::new(kind).session(&before.id, &before.run_id).lane(before.lane.as_ref());
    let status = |kind| {
        let task = before.task.as_ref().map(ToString::to_string);
        about(kind).with("from", before.status.as_str()).with("task_id", task)
    };
    let event = match effect {
        SessionEffect::Write | SessionEffect::Touch => return Ok(()),
        SessionEffect::ConfirmTyped => return message_state::confirm_typed(tx, before),
        SessionEffect::ExpireMessages => return message_state::expire_for_session(tx, before),
        SessionEffect::ExpireApprovals => return approval_state::expire_pending(tx, after, None),
        SessionEffect::RenewLeases => {
            tasks::renew_leases(tx, before.id.as_str(), None)?;
            return Ok(());
        }
        SessionEffect::RecordRunning { why } if before.status == SessionStatus::Stale => {
            status(EventKind::SessionRevived).with("reason", why)
        }
        SessionEffect::RecordRunning { why } => status(EventKind::SessionRunning).with("reason", why),
        SessionEffect::RecordStale { why } => status(EventKind::SessionStale).with("reason", why),
        SessionEffect::RecordActivity => about(EventKind::SessionActivity)
            .with("from", before.activity.as_str())
            .with("to", after.activity.as_str())
            .with("waiting_for", after.waiting_for.as_deref())
            .with("context_usage", after.context_usage.map(|share| share.to_string())),
        SessionEffect::RecordChanged(fields) => Event::new(EventKind::SessionUpserted)
            .session(&after.id, &after.run_id)
            .lane(after.lane.as_ref())
            .with("changed", EventValue::from(fields.into_iter().map(str::to_owned).collect::<Vec<_>>())),
        SessionEffect::RecordParked => about(EventKind::SessionParked)
            .with("parked_until", after.parking_ends_at().map(|until| until.to_string()))
            .with("why", after.parked_why.as_ref().map(ToString::to_string))
            .with("kind", after.parked_why.as_ref().map(|why| why.kind().as_str())),
        SessionEffect::RecordUnparked => about(EventKind::SessionUnparked),
        SessionEffect::RecordEnd => {
            let is_failed = after.status == SessionStatus::Failed;
            status(if is_failed { EventKind::SessionFailed } else { EventKind::SessionEnded })
                .with("exit_code", after.exit_code)
                .with("reason", after.reason.as_deref())
        }
    };
    tx.record(&event)?;
    Ok(())
}

/// Stores a new session and records an event that says that it was created.
pub fn register(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    insert(tx, session)?;
    tx.record(
        &Event::new(EventKind::SessionUpserted)
            .session(&session.id, &session.run_id)
            .lane(session.lane.as_ref())
            .with("created", true)
            .with("status", session.status.as_str())
            .with("role", session.role.as_str())
            .with("task_id", session.task.as_ref().map(ToString::to_string))
            .with("provider", session.provider.as_ref().map(ToString::to_string))
            .with("backend", session.backend.as_deref()),
    )?;
    Ok(())
}

/// Stores a session that is about to be launched. Its launch records the event.
pub fn insert(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    Ok(sessions::insert(tx, session)?)
}

/// Replaces the row of an earlier session run by that of a new one with the same id. Its launch records the event.
pub fn replace(tx: &WriteTx<'_>, earlier: &Session, new: Session) -> Result<()> {
    if sessions::update(tx, &Session { version: earlier.version, ..new })? {
        return Ok(());
    }
    Err(errors::internal(format!("the session {} changed under an open transaction", earlier.id)))
}

/// Records that a session has done something. Does nothing for a final session, and when the session's current run is not
/// `run_id`.
pub fn acted(tx: &WriteTx<'_>, session: &Session, run_id: Option<&RunId>) -> Result<()> {
    if session.status.is_final() || session.check_run_id(run_id).is_err() {
        return Ok(());
    }
    apply(tx, session, &SessionEvent::Acted).map(drop)
}

/// Records a report that tells no activity. Does nothing for a final session.
pub fn heard(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status.is_final() {
        return Ok(());
    }
    apply(tx, session, &SessionEvent::Reported(Report::without_activity("", "it acts"))).map(drop)
}

/// Records an activity that `source` reports. The report also proves that text typed into the session arrived.
///
/// # Errors
/// `session_final`.
pub fn reported(
    tx: &WriteTx<'_>,
    session: &Session,
    activity: Activity,
    waiting_for: Option<&str>,
    source: &str,
) -> Result<Session> {
    apply(tx, session, &SessionEvent::Reported(Report::of(activity, waiting_for, source)))
}

/// Gives a session the final status `status`. Its claims stay.
///
/// # Errors
/// `session_final` when it is already final.
pub fn end(
    tx: &WriteTx<'_>,
    session: &Session,
    status: SessionStatus,
    exit_code: Option<i64>,
    reason: Option<&str>,
) -> Result<Session> {
    apply(tx, session, &SessionEvent::Ended { status, exit_code, reason })
}
