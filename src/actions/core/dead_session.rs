//! Sessions whose run is proven to be dead. The proof is made outside of a transaction; inside of it the session's version
//! tells whether the proof still holds.

use anyhow::Result;

use super::finish_session::finish;
use crate::{
    domain::{
        SessionId,
        session::{Session, SessionStatus},
    },
    store::{ReadTx, WriteTx, sessions},
};

/// A session of which nothing is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadSession {
    pub id: SessionId,
    /// The proof, as a sentence: "process 7 is gone".
    pub why: String,
    version: i64,
}

impl DeadSession {
    /// The proof for a session as it was read before the look at its processes.
    pub fn new(session: &Session, why: String) -> Self {
        Self { id: session.id.clone(), why, version: session.version }
    }

    /// The session, if it has not changed since the look: a heartbeat or another run disproves the proof.
    pub fn confirm(&self, tx: &ReadTx<'_>) -> Result<Option<Session>> {
        Ok(sessions::find(tx, &self.id)?.filter(|session| session.version == self.version))
    }

    /// Ends the session as failed, unless it is final.
    pub fn end(&self, tx: &WriteTx<'_>, session: &Session) -> Result<()> {
        if !session.status.is_final() {
            finish(tx, session, SessionStatus::Failed, None, Some(&self.why))?;
        }
        Ok(())
    }
}
