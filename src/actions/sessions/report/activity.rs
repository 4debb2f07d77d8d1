//! The activity of a session, recorded within a transaction.

use anyhow::Result;

use crate::{
    actions::core::{keepalive, lookup, message_state},
    domain::{
        Event, EventKind,
        session::{Activity, Session, SessionStatus},
    },
    store::{WriteTx, tasks},
};

/// Records a heartbeat with an activity: a starting or stale session becomes running, and its leases are renewed. An unchanged
/// activity without a text keeps the recorded text. A session that is being stopped keeps its activity.
///
/// # Errors
/// `session_final`.
pub fn set_activity(
    tx: &WriteTx<'_>,
    session: &Session,
    activity: Activity,
    waiting_for: Option<&str>,
    source: &str,
) -> Result<Session> {
    let alive = session.with_heartbeat(tx.now())?;
    let waiting_for = kept_waiting_for(session, activity, waiting_for);
    let after = alive.with_activity(activity, waiting_for, source, tx.now());
    keepalive::update_session(tx, &after)?;
    if session.status != SessionStatus::Running {
        keepalive::record_running(tx, session, source)?;
    }
    record_activity_change(tx, session, &after)?;
    tasks::renew_leases(tx, session.id.as_str(), None)?;
    Ok(Session { version: after.version + 1, ..after })
}

/// Records an activity that `source` reports, as [`set_activity`] does. The report also proves that text typed into the session
/// arrived. Returns the session as it is afterwards.
///
/// # Errors
/// `session_final`.
pub fn report_activity(
    tx: &WriteTx<'_>,
    session: &Session,
    activity: Activity,
    waiting_for: Option<&str>,
    source: &str,
) -> Result<Session> {
    message_state::confirm_typed(tx, session)?;
    // The session may have been written earlier in this transaction.
    set_activity(tx, &lookup::session(tx, &session.id)?, activity, waiting_for, source)
}

/// Records an event when the activity, its text or the context usage has changed. Returns whether one was recorded.
pub(in crate::actions) fn record_activity_change(tx: &WriteTx<'_>, before: &Session, after: &Session) -> Result<bool> {
    let same = before.activity == after.activity
        && before.waiting_for == after.waiting_for
        && before.context_usage.map(f64::to_bits) == after.context_usage.map(f64::to_bits);
    if same {
        return Ok(false);
    }
    tx.record(
        &Event::new(EventKind::SessionActivity)
            .session(&before.id, &before.run_id)
            .lane(before.lane.as_ref())
            .with("from", before.activity.as_str())
            .with("to", after.activity.as_str())
            .with("waiting_for", after.waiting_for.as_deref())
            .with("context_usage", after.context_usage.map(|share| share.to_string())),
    )?;
    Ok(true)
}

/// The `waiting_for` text after a report of `activity`: the reported text, or the recorded one while the activity stays
/// the same.
pub(super) fn kept_waiting_for<'a>(
    session: &'a Session,
    activity: Activity,
    reported: Option<&'a str>,
) -> Option<&'a str> {
    reported.or_else(|| session.waiting_for.as_deref().filter(|_| session.activity == activity))
}
