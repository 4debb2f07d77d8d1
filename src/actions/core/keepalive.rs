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

/// Records an act of a session as its heartbeat. A starting or stale session is set running, with an event. A final session
/// and another session run are left alone.
pub fn touch(tx: &WriteTx<'_>, session: &Session, run_id: Option<&RunId>) -> Result<()> {
    if session.status.is_final() || session.check_run_id(run_id).is_err() {
        return Ok(());
    }
    message_state::confirm_typed(tx, session)?;
    mark_running(tx, session)
}

/// Notes a report of a session: a stale session is revived, and the leases of its claims are renewed. A final session stays
/// as it is.
pub fn touch_and_renew_leases(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status.is_final() {
        return Ok(());
    }
    message_state::confirm_typed(tx, session)?;
    touch_started(tx, session)
}

/// Notes the start of a session: as [`touch_and_renew_leases`], but a start does not prove that text typed into the session
/// arrived.
pub fn touch_started(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status.is_final() {
        return Ok(());
    }
    mark_running(tx, session)?;
    tasks::renew_leases(tx, session.id.as_str(), None)?;
    Ok(())
}

/// Sets a session running that is not final. Unlike [`touch`], it does not confirm typed prompts: a session that just starts
/// has not read them.
pub(in crate::actions) fn mark_running(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status == SessionStatus::Running {
        return Ok(sessions::touch(tx, &session.id)?);
    }
    let alive = session.with_heartbeat(tx.now())?;
    update_session(tx, &alive)?;
    record_running(tx, session, "it acts")
}

/// Writes a session that was read in this transaction.
pub(in crate::actions) fn update_session(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    // No other process writes while this transaction is open, so the version cannot have changed.
    if sessions::update(tx, session)? {
        return Ok(());
    }
    Err(errors::internal(format!("the session {} changed under an open transaction", session.id)))
}

/// Records the event that a starting or stale session runs.
pub(in crate::actions) fn record_running(tx: &WriteTx<'_>, before: &Session, why: &str) -> Result<()> {
    let kind = match before.status {
        SessionStatus::Stale => EventKind::SessionRevived,
        _ => EventKind::SessionRunning,
    };
    tx.record(&status_event(kind, before).with("reason", why))?;
    Ok(())
}

/// Records the event that a session became stale.
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
