//! What a session does, as somebody reports it, inside a change.

use anyhow::Result;

use super::heartbeat;
use crate::actions::{
    core::{keepalive, lookup, message_state},
    sessions::control::stop,
};
use crate::{
    domain::session::{Activity, Session, SessionStatus},
    store::{WriteTx, tasks},
};

/// Notes a sign of life of a session, and what it does: what was starting or stale runs, its leases are renewed. The same
/// activity without words keeps the words that are known; one that is being stopped stays so.
///
/// # Errors
/// `session_final`; as the store fails.
pub fn set_activity(
    tx: &WriteTx<'_>,
    session: &Session,
    activity: Activity,
    waiting_for: Option<&str>,
    source: &str,
) -> Result<Session> {
    let alive = session.with_heartbeat(tx.now())?;
    let is_being_stopped =
        session.activity == Activity::Stopping && session.activity_source.as_deref() == Some(stop::SOURCE);
    let words = match waiting_for {
        None if session.activity == activity => session.waiting_for.as_deref(),
        words => words,
    };
    let after = if is_being_stopped { alive } else { alive.with_activity(activity, words, source, tx.now()) };
    keepalive::update_session(tx, &after)?;
    if session.status != SessionStatus::Running {
        keepalive::record_running(tx, session, source)?;
    }
    heartbeat::record_activity_change(tx, session, &after)?;
    tasks::renew_leases(tx, session.id.as_str(), None)?;
    Ok(Session { version: after.version + 1, ..after })
}

/// Records an activity that `source` reports of a session: as [`set_activity`], and the report proves that text typed into
/// the session arrived.
///
/// # Errors
/// `session_final`; as the store fails.
pub fn report_activity(
    tx: &WriteTx<'_>,
    session: &Session,
    activity: Activity,
    waiting_for: Option<&str>,
    source: &str,
) -> Result<Session> {
    message_state::confirm_typed(tx, session)?;
    // This transaction may have written the session since the caller read it.
    set_activity(tx, &lookup::session(tx, &session.id)?, activity, waiting_for, source)
}
