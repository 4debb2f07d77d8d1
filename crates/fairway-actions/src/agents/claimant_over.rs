//! A task whose claimant has ended: how it ended, and how another session takes the task over.

use anyhow::Result;

use crate::core::session_process::{self, RunProcesses};
use crate::queue::claimants;
use fairway_core::domain::session::SessionStatus;
use fairway_core::domain::task::Task;
use fairway_core::domain::{LaneName, TaskId, age};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, sessions};

/// A session that is over and still has a claim.
#[derive(Debug, Clone)]
pub(super) struct ClaimantOver {
    pub claimant: String,
    /// How the session ended, as a clause: `which ended 5m ago`.
    pub how: String,
    /// Whether the session worked in the lane of the session that asks.
    pub is_of_same_lane: bool,
    /// The command by which a person lets the claim go on; `None` for a claim without a lane.
    way_of_person: Option<String>,
}

impl ClaimantOver {
    /// The command that takes the task over, and its effect.
    pub fn takeover(&self, task: &TaskId, is_person: bool) -> String {
        let claimant = &self.claimant;
        match &self.way_of_person {
            Some(command) if is_person => format!("{command}  continues the work of {claimant}"),
            _ if self.is_of_same_lane => format!("fairway claim {task}  continues the work of {claimant}"),
            _ => format!("fairway claim {task} --steal --reason \"...\"  takes it over from {claimant}"),
        }
    }
}

/// The claimant of a task, if it is a session other than `own_name` and is over; else `None`. `own_lane` is the lane of the
/// live session that asks.
pub(super) fn find(
    tx: &ReadTx<'_>,
    own_name: &str,
    own_lane: Option<&LaneName>,
    task: &Task,
    now: Timestamp,
) -> Result<Option<ClaimantOver>> {
    let Some(claim) = task.state.claim().filter(|claim| claim.claimant != own_name) else { return Ok(None) };
    let session = claim.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten();
    let Some(session) = session else { return Ok(None) };
    let (alive, mut processes) = (session_process::aliveness(&session), RunProcesses::default());
    if session_process::proof_of_end(&session, &alive, &mut processes).is_err() {
        return Ok(None);
    }
    let how = match session.ended_at {
        Some(at) => {
            let verb = if session.status == SessionStatus::Failed { "failed" } else { "ended" };
            format!("which {verb} {} ago", age::rough(now.since(at)))
        }
        None => "whose process is gone".to_owned(),
    };
    let ways = claimants::ways_on(tx, &task.id, task.state.status(), &session, &alive, &mut processes)?;
    let way_of_person = ways.into_iter().next().filter(|_| session.lane.is_some()).map(|way| way.command);
    let is_of_same_lane = session.lane.is_some() && session.lane.as_ref() == own_lane;
    Ok(Some(ClaimantOver { claimant: claim.claimant.clone(), how, is_of_same_lane, way_of_person }))
}
