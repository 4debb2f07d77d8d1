//! Which of the lanes with files that run later a review has approved.

use anyhow::Result;

use crate::{
    domain::{LaneName, review::Verdict, session_facts::HeldTask},
    store::{ReadTx, overlaps::LaneDiffstat, reviews},
};

/// The lanes whose newest commit a review has approved, of those with such files.
pub(super) fn find(tx: &ReadTx<'_>, diffstats: &[LaneDiffstat], held: &[HeldTask]) -> Result<Vec<LaneName>> {
    let mut found = Vec::new();
    for one in diffstats.iter().filter(|one| !one.runs_later.is_empty()) {
        for task in held.iter().filter(|held| held.lane.as_ref() == Some(&one.lane)) {
            let is_approval = |verdict, commit: Option<&String>| {
                verdict == Some(Verdict::Approve) && commit.is_some() && commit == one.tip.as_ref()
            };
            if reviews::of_task(tx, &task.task)?
                .iter()
                .any(|review| is_approval(review.verdict, review.commit.as_ref()))
            {
                found.push(one.lane.clone());
            }
        }
    }
    Ok(found)
}
