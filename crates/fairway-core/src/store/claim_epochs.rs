//! Raises the epochs of all claims: after a restore or a move of the store, no earlier claim is valid.

use super::sql::{self, Statement};
use super::{StoreError, WriteTx};
use crate::domain::claim::{Claim, ClaimEnd};
use crate::domain::{Event, EventKind, TaskId};

/// The increase of all epochs when it is unknown which ones were given out.
pub(super) const EPOCH_JUMP: i64 = 1_000_000;

const HIGHEST_EPOCH: Statement<'_> = Statement {
    sqlite: "SELECT max((SELECT coalesce(max(epoch), 0) FROM tasks), \
         (SELECT coalesce(max(epoch), 0) FROM claims), (SELECT coalesce(max(epoch), 0) FROM restores))",
    postgres: "SELECT greatest((SELECT coalesce(max(epoch), 0) FROM tasks), \
         (SELECT coalesce(max(epoch), 0) FROM claims), (SELECT coalesce(max(epoch), 0) FROM restores))",
};
const INSERT_RESTORE: &str = "INSERT INTO restores (epoch, at) VALUES ($1, $2)";
// Handoffs that were valid at the time of the backup stay valid.
const RAISE_HANDOFF_EPOCHS: &str = "UPDATE handoffs SET epoch = $1 WHERE status = 'open' \
     AND epoch = (SELECT epoch FROM tasks WHERE id = handoffs.task_id)";
const RAISE_EPOCHS: &str = "UPDATE tasks SET epoch = $1";
const END_ALL_CLAIMS: &str = "UPDATE claims SET ended_at = $1, ended_as = $2 WHERE ended_at IS NULL";
const CLAIMED_TASKS: &str = "SELECT t.id, t.claimant, t.claim_role, t.claimed_at, s.id FROM tasks t \
     LEFT JOIN agent_sessions s ON s.id = t.claim_session WHERE t.claimant IS NOT NULL ORDER BY t.id";

/// Raises the epoch of every task to this one, and replaces the live claims by claims under it.
pub(super) fn renew_claims(tx: &WriteTx<'_>, epoch: i64) -> Result<(), StoreError> {
    let conn = tx.conn();
    let now = tx.now().millis();
    sql::execute(conn, INSERT_RESTORE, &[&epoch, &now])?;
    sql::execute(conn, RAISE_HANDOFF_EPOCHS, &[&epoch])?;
    sql::execute(conn, RAISE_EPOCHS, &[&epoch])?;
    sql::execute(conn, END_ALL_CLAIMS, &[&now, &ClaimEnd::Restored.as_str()])?;
    let held = sql::rows(conn, CLAIMED_TASKS, &[], |row| {
        let claim = Claim {
            claimant: row.get(1)?,
            role: row.get(2)?,
            epoch,
            claimed_at: row.get(3)?,
            session: row.get(4)?,
            lease_until: None,
            lease: None,
        };
        Ok((row.get::<TaskId>(0)?, claim))
    })?;
    for (task, claim) in &held {
        let place = super::claims::newest(tx, task)?.map(|newest| newest.place).unwrap_or_default();
        super::claims::insert(tx, task, claim, &place)?;
        let event = Event::new(EventKind::TaskClaimed)
            .task(task)
            .with("epoch", epoch)
            .with("claimant", claim.claimant.as_str())
            .with("role", claim.role.as_ref().map(ToString::to_string))
            .with("takeover", "restored");
        tx.record(&event)?;
    }
    Ok(())
}

pub(super) fn highest_epoch<'c>(conn: impl Into<sql::Connection<'c>>) -> Result<i64, StoreError> {
    Ok(sql::first(conn, HIGHEST_EPOCH, &[], |row| row.get(0))?.unwrap_or_default())
}
