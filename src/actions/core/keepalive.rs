//! Heartbeats: any act or report of a session sets it running and renews its leases.

use anyhow::Result;

use crate::{
    actions::core::{errors, message_state},
    domain::{
        Event, EventKind, RunId,
        session::{Session, SessionStatus},
    },
    store::{StoreError, WriteTx, sessions, tasks},
};

/// Records that a session has done something: sets its heartbeat, acknowledges the prompts that were typed into it, and makes a
/// starting or stale session running, with an event. Does nothing for a final session, and when the session's current run is not
/// `run_id`.
pub fn touch(tx: &WriteTx<'_>, session: &Session, run_id: Option<&RunId>) -> Result<()> {
    if session.status.is_final() || session.check_run_id(run_id).is_err() {
        return Ok(());
    }
    message_state::confirm_typed(tx, session)?;
    mark_running(tx, session)
}

/// Like [`touch`], for a report of the session, without a check of its run. Also renews the leases of the session's claims.
pub fn touch_and_renew_leases(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status.is_final() {
        return Ok(());
    }
    message_state::confirm_typed(tx, session)?;
    touch_started(tx, session)
}

/// Like [`touch_and_renew_leases`], for the start of a session, which does not prove that typed text arrived.
pub fn touch_started(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status.is_final() {
        return Ok(());
    }
    mark_running(tx, session)?;
    tasks::renew_leases(tx, session.id.as_str(), None)?;
    Ok(())
}

/// Records a heartbeat and makes a starting or stale session running, with an event. Does not acknowledge typed prompts, which a
/// session that is still starting has not read.
///
/// # Errors
/// `session_final`.
pub(in crate::actions) fn mark_running(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status == SessionStatus::Running {
        return Ok(sessions::touch(tx, &session.id)?);
    }
    let alive = session.with_heartbeat(tx.now())?;
    update_session(tx, &alive)?;
    record_running(tx, session, "it acts")
}

/// Writes a session that the caller has read in this transaction. Fails when the row has changed since it was read.
pub(in crate::actions) fn update_session(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    // No other process writes while this transaction is open, so the version cannot have changed.
    if sessions::update(tx, session)? {
        return Ok(());
    }
    Err(errors::internal(format!("the session {} changed under an open transaction", session.id)))
}

pub(in crate::actions) fn record_running(tx: &WriteTx<'_>, before: &Session, why: &str) -> Result<()> {
    let kind = match before.status {
        SessionStatus::Stale => EventKind::SessionRevived,
        _ => EventKind::SessionRunning,
    };
    tx.record(&status_event(kind, before).with("reason", why))?;
    Ok(())
}

pub(crate) fn record_stale(tx: &WriteTx<'_>, before: &Session, why: &str) -> Result<i64, StoreError> {
    tx.record(&status_event(EventKind::SessionStale, before).with("reason", why))
}

fn status_event(kind: EventKind, before: &Session) -> Event {
    Event::new(kind)
        .session(&before.id, &before.run_id)
        .lane(before.lane.as_ref())
        .with("from", before.status.as_str())
        .with("task_id", before.task.as_ref().map(ToString::to_string))
}
