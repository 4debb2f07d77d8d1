//! What a session does, as somebody reports it, inside a change.

use anyhow::Result;

use super::{heartbeat, life};
use crate::{
    domain::session::{Activity, Session, SessionStatus},
    store::{WriteTx, tasks},
};

/// Notes a sign of life of a session, and what it does: what was starting or stale runs, its leases are renewed.
///
/// # Errors
/// `session_final`; as the store fails.
pub fn does(
    tx: &WriteTx<'_>,
    session: &Session,
    activity: Activity,
    waiting_for: Option<&str>,
    source: &str,
) -> Result<Session> {
    let after = session.alive(tx.now())?.doing(activity, waiting_for, source, tx.now());
    life::write(tx, &after)?;
    if session.status != SessionStatus::Running {
        life::lifted(tx, session, source)?;
    }
    heartbeat::changes(tx, session, &after)?;
    tasks::renew_leases(tx, session.id.as_str(), None)?;
    Ok(Session { version: after.version + 1, ..after })
}
