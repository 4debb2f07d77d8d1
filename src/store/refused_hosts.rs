//! Hosts that programs in sandboxes asked for and that are closed, as the event log has them.

use serde_json::Value;

use super::{ReadTx, StoreError, events, sql};
use crate::{
    domain::{EventKind, SessionId},
    env::Timestamp,
};

/// A host that a session did not reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedHostRow {
    pub session: SessionId,
    pub at: Timestamp,
    pub host: String,
    pub reason: String,
    /// The entry of the list of hosts that would open it.
    pub entry: Option<String>,
}

const OF_LIVE: &str = "SELECT session_id, at, data FROM events WHERE kind = 'sandbox.host_refused' AND session_id IN \
     (SELECT id FROM agent_sessions INDEXED BY agent_sessions_live WHERE ended_at IS NULL) ORDER BY seq";

/// Those of the live sessions, oldest first.
pub fn of_live_sessions(tx: &ReadTx<'_>) -> Result<Vec<RefusedHostRow>, StoreError> {
    sql::rows(tx.conn(), OF_LIVE, &[], |row| {
        let text: String = row.get(2)?;
        let data: Value = serde_json::from_str(&text).unwrap_or_default();
        let member = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
        Ok(RefusedHostRow {
            session: sql::parse_id("a session id", &row.get::<String>(0)?, SessionId::parse)?,
            at: Timestamp::from_millis(row.get(1)?),
            host: member("host").unwrap_or_default(),
            reason: member("reason").unwrap_or_default(),
            entry: member("entry"),
        })
    })
}

/// Whether it is recorded that the session did not reach the host.
pub fn is_recorded(tx: &ReadTx<'_>, session: &SessionId, host: &str) -> Result<bool, StoreError> {
    let is_it = |kind| kind == EventKind::SandboxHostRefused;
    let found = events::newest_of_session_matching(tx, session, is_it, |event| event.data["host"] == host)?;
    Ok(found.is_some())
}
