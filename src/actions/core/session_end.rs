//! The end of a session: by a command or report, or by the proof that none of its processes is alive. The proof is made outside
//! of a transaction; inside of it the session's version shows whether the proof still holds.

use anyhow::Result;

use super::{approval_state, keepalive, message_state};
use crate::{
    domain::{
        Event, EventKind, SessionId,
        session::{Session, SessionStatus},
    },
    store::{ReadTx, WriteTx, sessions},
};

/// Gives a session the final status `status` and records an event; the end of one that is being stopped is that stop. Its pending
/// approval requests and messages expire, its claims stay.
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
    let is_failed = finished.status == SessionStatus::Failed;
    let kind = if is_failed { EventKind::SessionFailed } else { EventKind::SessionEnded };
    keepalive::update_session(tx, &finished)?;
    message_state::expire_for_session(tx, session)?;
    tx.record(
        &Event::new(kind)
            .session(&session.id, &session.run_id)
            .lane(session.lane.as_ref())
            .with("from", session.status.as_str())
            .with("task_id", session.task.as_ref().map(ToString::to_string))
            .with("exit_code", exit_code)
            .with("reason", finished.reason.as_deref()),
    )?;
    approval_state::expire_pending(tx, &finished, None)?;
    Ok(finished)
}

/// A session that is proven to have no process alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadSession {
    pub id: SessionId,
    /// The proof as a sentence: "process 7 is gone".
    pub why: String,
    version: i64,
}

impl DeadSession {
    /// `session` is the row as it was read before its processes were examined.
    pub fn new(session: &Session, why: String) -> Self {
        Self { id: session.id.clone(), why, version: session.version }
    }

    /// The session; `None` when its row has changed since the proof, because a heartbeat or a new run disproves it.
    pub fn confirm(&self, tx: &ReadTx<'_>) -> Result<Option<Session>> {
        Ok(sessions::find(tx, &self.id)?.filter(|session| session.version == self.version))
    }

    pub fn end(&self, tx: &WriteTx<'_>, session: &Session) -> Result<()> {
        if !session.status.is_final() {
            finish(tx, session, SessionStatus::Failed, None, Some(&self.why))?;
        }
        Ok(())
    }
}
