//! The end of a session: one way for whoever brings it about.

use anyhow::Result;

use crate::{
    domain::{
        Event, Kind, Refusal,
        session::{Session, SessionStatus},
    },
    store::{WriteTx, sessions},
};

/// Makes a session final and records it; answers with the session as it is then.
///
/// # Errors
/// `session_final` when it is already; as the store fails.
pub fn finish(
    tx: &WriteTx<'_>,
    session: &Session,
    status: SessionStatus,
    exit_code: Option<i64>,
    reason: Option<&str>,
) -> Result<Session> {
    if session.status.is_final() {
        return Err(Refusal::SessionFinal { session: session.id.clone(), status: session.status }.into());
    }
    let ended = Session {
        status,
        ended_at: Some(tx.now()),
        exit_code: exit_code.or(session.exit_code),
        reason: reason.map(str::to_owned),
        waiting_for: None,
        ..session.clone()
    };
    if !sessions::update(tx, &ended)? {
        return Err(crate::actions::failure::internal("the session was changed within one transaction"));
    }
    let kind = if status == SessionStatus::Failed { Kind::SessionFailed } else { Kind::SessionEnded };
    let event = Event::new(kind)
        .session(&session.id, &session.run_id)
        .lane(session.lane.as_ref())
        .with("from", session.status.as_str())
        .with("exit_code", ended.exit_code)
        .with("reason", reason);
    tx.record(&match &session.task {
        Some(task) => event.task(task),
        None => event,
    })?;
    Ok(Session { version: session.version + 1, ..ended })
}
