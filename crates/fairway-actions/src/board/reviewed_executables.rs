//! Lanes with files that run later whose newest commit a review has approved.

use anyhow::Result;

use crate::queue::gates;
use fairway_core::domain::LaneName;
use fairway_core::domain::actor::is_same_claimant;
use fairway_core::domain::review::{Review, Verdict};
use fairway_core::domain::session_facts::HeldTask;
use fairway_core::store::overlaps::LaneDiffstat;
use fairway_core::store::{ReadTx, reviews};

/// Lanes that changed files which programs of a person run or read later, and whose newest commit was approved by a reviewer
/// who never claimed the work.
pub(super) fn find(tx: &ReadTx<'_>, diffstats: &[LaneDiffstat], held: &[HeldTask]) -> Result<Vec<LaneName>> {
    let mut found = Vec::new();
    for one in diffstats.iter().filter(|one| !one.runs_later.is_empty()) {
        for task in held.iter().filter(|held| held.lane.as_ref() == Some(&one.lane)) {
            let claimants = gates::claimants(tx, &task.task)?;
            // As for the gate: a claimant's verdict on its own work is no approval.
            let is_approval = |review: &Review| {
                review.verdict == Some(Verdict::Approve)
                    && review.commit.is_some()
                    && review.commit == one.tip
                    && !claimants.iter().any(|claimant| is_same_claimant(claimant, &review.actor))
            };
            if reviews::of_task(tx, &task.task)?.iter().any(is_approval) {
                found.push(one.lane.clone());
            }
        }
    }
    Ok(found)
}
