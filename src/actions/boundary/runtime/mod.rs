//! What runtimes report about their sessions: nothing is scraped and nothing is guessed. No report claims, finishes, approves
//! or merges anything.

pub mod context;
pub mod health;
pub mod lifecycle;

use anyhow::Result;

use crate::actions::{
    App,
    core::{keepalive, lookup},
    sessions::{
        prompt,
        report::{activity, heartbeat},
    },
};
use crate::{
    domain::{
        Refusal,
        session::{Activity, Session},
    },
    store::{ReadTx, WriteTx, sessions, tasks},
};

/// A run's id in its usual spelling; what is no UUID stays as it is, and is no run that Fairway began.
#[must_use]
pub fn normalize_run_id(run_id: &str) -> String {
    uuid::Uuid::parse_str(run_id).map_or_else(|_| run_id.to_owned(), |run| run.to_string())
}

/// The session of a run, final or not.
///
/// # Errors
/// `not_found`; as the store fails.
pub fn session_of_run(tx: &ReadTx<'_>, run_id: &str) -> Result<Session> {
    match sessions::by_run_id(tx, &normalize_run_id(run_id))? {
        Some(session) => Ok(session),
        None => Err(unknown_run(run_id)),
    }
}

fn unknown_run(run_id: &str) -> anyhow::Error {
    // It may be anything; its beginning is enough.
    let id: String = run_id.chars().take(64).collect();
    Refusal::not_found("session with the run", id).into()
}

/// A sign of life of a session: a suspicion is over, and the leases of what it holds are renewed. One that has ended gives
/// none any more.
///
/// # Errors
/// As the store fails.
pub fn touch(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status.is_final() {
        return Ok(());
    }
    prompt::confirm_typed(tx, session)?;
    touch_started(tx, session)
}

/// A session begins, which is a sign of life as well, but no proof that what was typed into it arrived.
///
/// # Errors
/// As the store fails.
pub fn touch_started(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status.is_final() {
        return Ok(());
    }
    keepalive::mark_running(tx, session)?;
    tasks::renew_leases(tx, session.id.as_str(), None)?;
    Ok(())
}

/// What a session does, as `source` reports it of it: a sign of life, and an event when something is new. It also shows that
/// what was typed into it arrived. Answers with the session as it stands then. The same activity without words keeps the
/// words that are known; one that is being stopped stays so.
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
    prompt::confirm_typed(tx, session)?;
    // Something else may have been written about it in this very transaction.
    activity::set_activity(tx, &lookup::session(tx, &session.id)?, activity, waiting_for, source)
}

/// Notes how full a session's context is. Once it is nearly full, one system prompt asks it to record where it stands and to
/// hand over; the next one comes only after it has been emptier. Says whether it was asked now.
///
/// # Errors
/// `session_final`; as the store fails.
pub fn report_context_usage(app: &App, tx: &WriteTx<'_>, session: &Session, share: f64) -> Result<bool> {
    session.check_open()?;
    let now = lookup::session(tx, &session.id)?;
    let after = Session { context_usage: Some(share), ..now.clone() };
    if now.context_usage.map(f64::to_bits) != Some(share.to_bits()) {
        keepalive::update_session(tx, &after)?;
        heartbeat::record_activity_change(tx, &now, &after)?;
    }
    crate::actions::sessions::report::context_threshold::check(app, tx, &after, share)
}
