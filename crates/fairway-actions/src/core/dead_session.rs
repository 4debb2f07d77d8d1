//! A session that is proven dead. The proof is made outside of a transaction; inside of it the session's version shows whether
//! the proof still holds.

use anyhow::Result;

use super::session_events;
use fairway_core::domain::SessionId;
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::store::{ReadTx, WriteTx, sessions};

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
            session_events::end(tx, session, SessionStatus::Failed, None, Some(&self.why))?;
        }
        Ok(())
    }
}
