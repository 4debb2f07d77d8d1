//! A task whose claimant has ended: how it ended, and how another session takes the task over.

use anyhow::Result;

use crate::{
    actions::core::session_process,
    domain::{LaneName, TaskId, age, session::SessionStatus, task::Task},
    env::Timestamp,
    store::{ReadTx, sessions},
};

/// A session that has ended and still has a claim.
#[derive(Debug, Clone)]
pub(super) struct ClaimantOver {
    pub claimant: String,
    /// How the session ended, as a clause: `which ended 5m ago`.
    pub how: String,
    /// Whether the ended session worked in the lane of the session that asks.
    pub is_of_same_lane: bool,
    /// Whether a relaunch of the ended session can continue its claim.
    pub can_be_relaunched: bool,
}

impl ClaimantOver {
    /// The command that takes the task over, and its effect. Only a person can relaunch the session.
    pub fn takeover(&self, task: &TaskId, is_person: bool) -> String {
        let claimant = &self.claimant;
        if is_person && self.can_be_relaunched {
            format!("fairway session relaunch {claimant}  continues the work of {claimant} in a new session")
        } else if self.is_of_same_lane {
            format!("fairway claim {task}  continues the work of {claimant}")
        } else {
            format!("fairway claim {task} --steal --reason \"...\"  takes it over from {claimant}")
        }
    }
}

/// The claimant of a task, if it is a session other than `own_name` and has ended; else `None`. `own_lane` is the lane of the
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
    let how = if let Some(at) = session.ended_at {
        let verb = if session.status == SessionStatus::Failed { "failed" } else { "ended" };
        format!("which {verb} {} ago", age::rough(now.since(at)))
    } else if session_process::aliveness(&session).is_dead() {
        "whose process is gone".to_owned()
    } else {
        return Ok(None);
    };
    let can_be_relaunched = session.adapter_script.is_some() && session.lane.is_some();
    let is_of_same_lane = session.lane.is_some() && session.lane.as_ref() == own_lane;
    Ok(Some(ClaimantOver { claimant: claim.claimant.clone(), how, is_of_same_lane, can_be_relaunched }))
}
