//! Landings that sent work back.

use std::collections::BTreeSet;

use anyhow::Result;

use fairway_core::domain::TaskId;
use fairway_core::domain::landing::{Landing, LandingState};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::session_facts::HeldTask;
use fairway_core::domain::task::TaskStatus;
use fairway_core::store::{ReadTx, landings, tasks};

const MAX_LANDINGS: i64 = 200;

#[derive(Debug, Clone)]
pub(super) struct SentBack {
    pub landing: Landing,
    /// A task of the landing that was released since and is unclaimed.
    pub released: Option<TaskId>,
}

/// For each task its newest landing, when that has sent the work back. Left out are tasks that were submitted or landed again
/// or given up, and closed lanes.
pub(super) fn find(tx: &ReadTx<'_>, held: &[HeldTask], lanes: &[Lane]) -> Result<Vec<SentBack>> {
    let mut seen: BTreeSet<TaskId> = BTreeSet::new();
    let mut found = Vec::new();
    for landing in landings::newest(tx, MAX_LANDINGS)? {
        let is_newest = landing.tasks.iter().all(|(task, _)| seen.insert(task.clone()));
        if !is_newest || landing.state != LandingState::SentBack || is_closed(&landing, lanes) {
            continue;
        }
        let (mut is_open, mut released) = (false, None);
        for (id, _) in &landing.tasks {
            match standing(tx, id, held)? {
                Standing::Settled => continue,
                Standing::Open => {}
                Standing::Released => released = released.or_else(|| Some(id.clone())),
            }
            is_open = true;
        }
        if is_open {
            found.push(SentBack { landing, released });
        }
    }
    Ok(found)
}

fn is_closed(landing: &Landing, lanes: &[Lane]) -> bool {
    let lane = landing.lane.as_ref().and_then(|name| lanes.iter().find(|one| one.name == *name));
    lane.is_some_and(|lane| lane.status == LaneStatus::Closed)
}

/// The state of a sent-back task.
enum Standing {
    /// Submitted or landed again, or given up.
    Settled,
    /// Claimed, or finished without landing.
    Open,
    /// Released and unclaimed.
    Released,
}

fn standing(tx: &ReadTx<'_>, id: &TaskId, held: &[HeldTask]) -> Result<Standing> {
    if let Some(held) = held.iter().find(|held| held.task == *id) {
        return Ok(if held.status == TaskStatus::Review { Standing::Settled } else { Standing::Open });
    }
    Ok(match tasks::find(tx, id)?.map(|task| task.state.status()) {
        Some(TaskStatus::Todo) => Standing::Released,
        // A finished task lands later.
        Some(TaskStatus::Done) if landings::landed_commit(tx, id)?.is_none() => Standing::Open,
        _ => Standing::Settled,
    })
}
