//! Overlap before anything is written: claimed tasks whose paths overlap. It needs no worktree, so it holds across hosts.

use anyhow::Result;

use crate::{
    domain::{LaneName, TaskId, overlap::LaneSnapshot, rules::globs, task::Task},
    store::{
        ReadTx,
        tasks::{self, ListScope},
    },
};

/// Two claimed tasks whose paths overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedOverlap {
    pub task: TaskId,
    pub lane: Option<LaneName>,
    pub other_task: TaskId,
    pub other_lane: Option<LaneName>,
    /// The two overlapping globs.
    pub globs: (String, String),
}

/// The pairs of claimed tasks of different claimants whose paths overlap, by id. Those of two lanes that have both written
/// there are left out: their work itself is judged.
pub(super) fn planned(tx: &ReadTx<'_>, snapshots: &[LaneSnapshot]) -> Result<Vec<PlannedOverlap>> {
    let mut claimed: Vec<Task> = Vec::new();
    tasks::for_each(tx, ListScope::Claimed, |task| {
        if !task.fields.paths.is_empty() {
            claimed.push(task);
        }
        Ok(true)
    })?;
    claimed.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    let has_written = |lane: Option<&LaneName>, glob: &str| {
        let snapshot = lane.and_then(|lane| snapshots.iter().find(|one| one.lane == *lane));
        snapshot.is_some_and(|one| one.paths.iter().any(|path| globs::matches(glob, &path.path)))
    };
    let mut found = Vec::new();
    for (place, one) in claimed.iter().enumerate() {
        for other in claimed.iter().skip(place + 1) {
            let claimant = |task: &Task| task.state.claim().map(|claim| claim.claimant.clone());
            if claimant(one) == claimant(other) {
                continue;
            }
            let Some((glob, other_glob)) = globs::first_overlap(&one.fields.paths, &other.fields.paths) else {
                continue;
            };
            let (lane, other_lane) = (one.fields.lane.as_ref(), other.fields.lane.as_ref());
            if has_written(lane, glob) && has_written(other_lane, other_glob) {
                continue;
            }
            found.push(PlannedOverlap {
                task: one.id.clone(),
                lane: lane.cloned(),
                other_task: other.id.clone(),
                other_lane: other_lane.cloned(),
                globs: (glob.to_owned(), other_glob.to_owned()),
            });
        }
    }
    Ok(found)
}
