//! The end of a session.

use anyhow::Result;

use crate::{
    actions::core::{approval_state, keepalive, message_state},
    domain::{
        Event, EventKind,
        session::{Session, SessionStatus},
    },
    store::WriteTx,
};

/// Ends a session: final status, time, exit code and reason, with their event. Its pending approval requests and messages
/// expire. Its claims stay.
///
/// # Errors
/// `session_final` when it is already final.
pub fn finish(
    tx: &WriteTx<'_>,
    session: &Session,
    status: SessionStatus,
    exit_code: Option<i64>,
    reason: Option<&str>,
) -> Result<Session> {
    let finished = session.to_finished(status, exit_code, reason, tx.now())?;
    let kind = if status == SessionStatus::Failed { EventKind::SessionFailed } else { EventKind::SessionEnded };
    keepalive::update_session(tx, &finished)?;
    message_state::expire_for_session(tx, session)?;
    tx.record(
        &Event::new(kind)
            .session(&session.id, &session.run_id)
            .lane(session.lane.as_ref())
            .with("from", session.status.as_str())
            .with("task_id", session.task.as_ref().map(ToString::to_string))
            .with("exit_code", exit_code)
            .with("reason", reason),
    )?;
    approval_state::expire_pending(tx, &finished, None)?;
    Ok(finished)
}
