//! The actor of a command: a session or a person at a host, with a role and a lane.

use super::{LaneName, Role, RunId, SessionId};

/// The actor as the caller declared it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The claimant name: the session's id, else `user@host`.
    pub name: String,
    /// The session, when one is named.
    pub session: Option<SessionId>,
    /// The session run, from the environment.
    pub run_id: Option<RunId>,
    /// The role, when one is named.
    pub role: Option<Role>,
    /// The lane, when one is named.
    pub lane: Option<LaneName>,
    /// The epoch that `--epoch` requires.
    pub epoch: Option<i64>,
}
