//! The intent of a `lane sync`: written before git moves the branch, deleted with the event. After a crash the next sync
//! records what has happened.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::core::errors;
use fairway_core::domain::{Event, EventKind, LaneName};
use fairway_core::store::{ReadTx, WriteTx, idempotency_keys};

/// The space makes the id of an intent different from every `--request-id`.
const INTENT_PREFIX: &str = "lane-sync ";

/// The move of a branch. Stored as JSON in the intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncPlan {
    pub base: String,
    pub base_commit: String,
    /// `fast_forward`, `merge` or `rebase`.
    pub how: String,
    /// How many commits the branch lacked.
    pub behind: u64,
    /// The commit of the branch before the move.
    pub from: String,
    /// The commit of the branch after the move.
    pub to: String,
}

fn key(name: &LaneName) -> String {
    format!("{INTENT_PREFIX}{name}")
}

/// The lane of a sync intent; `None` for any other request id.
pub fn lane_of(id: &str) -> Option<LaneName> {
    id.strip_prefix(INTENT_PREFIX).and_then(|name| LaneName::parse(name).ok())
}

pub(super) fn find(tx: &ReadTx<'_>, name: &LaneName) -> Result<Option<SyncPlan>> {
    let left = idempotency_keys::find(tx, &key(name))?.filter(|left| left.answer.is_none());
    left.map(|left| serde_json::from_str(&left.fingerprint).map_err(errors::internal)).transpose()
}

pub(super) fn write(app: &App, name: &LaneName, plan: &SyncPlan) -> Result<()> {
    let text = serde_json::to_string(plan).map_err(errors::internal)?;
    app.transaction(|tx| {
        idempotency_keys::delete_open(tx, &key(name))?;
        Ok(idempotency_keys::upsert(tx, &key(name), &text, None)?)
    })
}

/// Deletes the intent of a sync: after the move was recorded, or when it did not happen.
pub(super) fn clear(tx: &WriteTx<'_>, name: &LaneName) -> Result<()> {
    Ok(idempotency_keys::delete_open(tx, &key(name))?)
}

/// Records the move of a lane's branch and deletes its intent. `is_late` means that the command that moved the branch was
/// interrupted, and that another command records the move.
pub(super) fn record(tx: &WriteTx<'_>, name: &LaneName, plan: &SyncPlan, is_late: bool) -> Result<()> {
    clear(tx, name)?;
    tx.record(
        &Event::new(EventKind::LaneSynced)
            .lane(Some(name))
            .with("base", plan.base.as_str())
            .with("base_commit", plan.base_commit.as_str())
            .with("how", plan.how.as_str())
            .with("behind", i64::try_from(plan.behind).unwrap_or(i64::MAX))
            .with("from", plan.from.as_str())
            .with("to", plan.to.as_str())
            .with("interrupted", is_late),
    )?;
    Ok(())
}
