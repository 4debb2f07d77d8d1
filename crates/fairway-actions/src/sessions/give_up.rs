//! Ending a session of another host because a person says that it is over.

use anyhow::Result;

use crate::App;
use crate::core::last_heard::{LastHeard, Subject};
use crate::core::{other_host, session_events};
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, WriteTx};

/// Returns when a session of another host was last heard of, provided that this is long enough ago to give the session up, or
/// that `forced` is set.
///
/// # Errors
/// `host_alive` when it is not long enough ago.
pub(super) fn last_heard(
    app: &App,
    tx: &ReadTx<'_>,
    session: &Session,
    now: Timestamp,
    forced: bool,
) -> Result<LastHeard> {
    let id = &session.id;
    let heard = LastHeard::of_session(tx, session, now)?;
    let there = other_host::find(tx, &session.host, session.host_id.as_deref())?;
    let subject = Subject {
        name: format!("the session {id}"),
        recorded: &session.host,
        there: Some(there.command(&["session", "stop", id.as_str()])),
        force: format!("fairway session forget {id} --force --reason TEXT"),
    };
    heard.refuse_recent(app, forced, subject)?;
    Ok(heard)
}

/// Records a session of another host as failed, with the reason and the time since it was last heard of.
///
/// # Errors
/// Those of [`last_heard`].
pub(super) fn give_up(
    app: &App,
    tx: &WriteTx<'_>,
    session: &Session,
    why: Option<&str>,
    forced: bool,
) -> Result<Session> {
    let reason = last_heard(app, tx, session, tx.now(), forced)?.reason(app, why);
    session_events::end(tx, session, SessionStatus::Failed, None, Some(&reason))
}
