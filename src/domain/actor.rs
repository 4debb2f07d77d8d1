//! Who acts: a session, or a person at a host; and the role they act in.

use super::{LaneName, Role, SessionId};

/// Whoever calls, as far as they said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The name that claims are held under: the session's id, else `user@host`.
    pub name: String,
    /// The session, when one is named.
    pub session: Option<SessionId>,
    /// The session's run, when the surroundings tell it.
    pub run_id: Option<String>,
    /// The role, when one is named.
    pub role: Option<Role>,
    /// The lane, when one is named.
    pub lane: Option<LaneName>,
    /// The epoch that `--epoch` insists on.
    pub epoch: Option<i64>,
}
