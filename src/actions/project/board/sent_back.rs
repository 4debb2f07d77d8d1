//! Landings that sent work back.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::{
    domain::{
        TaskId,
        landing::{Landing, LandingState},
        lane::{Lane, LaneStatus},
        session_facts::HeldTask,
        task::TaskStatus,
    },
    store::{ReadTx, landings, tasks},
};

/// So many of the newest landings are looked at.
const MAX_LANDINGS: i64 = 200;

/// The newest landings of their tasks that sent work back, if it was neither submitted nor landed nor given up since.
pub(super) fn find(tx: &ReadTx<'_>, held: &[HeldTask], lanes: &[Lane]) -> Result<Vec<Landing>> {
    let mut seen: BTreeSet<TaskId> = BTreeSet::new();
    let mut found = Vec::new();
    for landing in landings::newest(tx, MAX_LANDINGS)? {
        let is_newest = landing.tasks.iter().all(|(task, _)| seen.insert(task.clone()));
        if is_newest && landing.state == LandingState::SentBack && is_open(tx, &landing, held, lanes)? {
            found.push(landing);
        }
    }
    Ok(found)
}

fn is_open(tx: &ReadTx<'_>, landing: &Landing, held: &[HeldTask], lanes: &[Lane]) -> Result<bool> {
    let lane = landing.lane.as_ref().and_then(|name| lanes.iter().find(|one| one.name == *name));
    if lane.is_some_and(|lane| lane.status == LaneStatus::Closed) {
        return Ok(false);
    }
    for (id, _) in &landing.tasks {
        let is_open = match held.iter().find(|held| held.task == *id) {
            Some(held) => held.status != TaskStatus::Review,
            // A finished task lands later; one that was released waits in the queue.
            None => {
                let status = tasks::find(tx, id)?.map(|task| task.state.status());
                status == Some(TaskStatus::Done) && landings::landed_commit(tx, id)?.is_none()
            }
        };
        if is_open {
            return Ok(true);
        }
    }
    Ok(false)
}
