//! Times that a clock which was ahead has written: a lease that ends later than from now on, and a heartbeat that is still to come.
//! Both would hold a task or keep a session alive until that time.

use super::{ReadTx, StoreError, WriteTx, sql};
use crate::env::Timestamp;

/// Commands that run at once read the clock at different times.
const TOLERANCE_MS: i64 = 60_000;

const ANY: &str = "SELECT \
     EXISTS (SELECT 1 FROM tasks WHERE claimant IS NOT NULL AND lease_until > $1 + lease_ms) \
     OR EXISTS (SELECT 1 FROM agent_sessions WHERE ended_at IS NULL AND last_heartbeat_at > $1)";
const SHORTEN_LEASES: &str = "UPDATE tasks SET lease_until = $2 + lease_ms \
     WHERE claimant IS NOT NULL AND lease_until > $1 + lease_ms";
const SHORTEN_HEARTBEATS: &str =
    "UPDATE agent_sessions SET last_heartbeat_at = $2 WHERE ended_at IS NULL AND last_heartbeat_at > $1";

/// Whether there are such times.
pub fn exist(tx: &ReadTx<'_>, now: Timestamp) -> Result<bool, StoreError> {
    Ok(sql::first(tx.conn(), ANY, &[&(now.millis() + TOLERANCE_MS)], |row| row.get(0))?.unwrap_or(false))
}

/// Counts leases and heartbeats of the future from now.
pub fn count_from_now(tx: &WriteTx<'_>) -> Result<(), StoreError> {
    let now = tx.now().millis();
    sql::execute(tx.conn(), SHORTEN_LEASES, &[&(now + TOLERANCE_MS), &now])?;
    sql::execute(tx.conn(), SHORTEN_HEARTBEATS, &[&(now + TOLERANCE_MS), &now])?;
    Ok(())
}
