//! A lane as a document.

use serde::Serialize;

use super::{CheckpointView, HandoffView, SessionOverviewView, TaskView};
use crate::domain::lane::Lane;

/// A lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaneView {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub title: Option<String>,
    /// The role that works in it.
    pub role: Option<String>,
    /// open, paused, closed.
    pub status: &'static str,
    /// Its branch.
    pub branch: Option<String>,
    /// The branch it came from.
    pub base: Option<String>,
    /// Its worktree's directory.
    pub worktree: Option<String>,
    /// How many tasks may be held in it at once.
    pub wip_limit: Option<i64>,
    /// Its default provider.
    pub provider: Option<String>,
    /// Its default backend.
    pub backend: Option<String>,
    /// How many tasks are held in it.
    pub held: i64,
    /// When it was added.
    pub created_at: String,
}

impl LaneView {
    /// The view of a lane in which `held` tasks are held.
    #[must_use]
    pub fn new(lane: &Lane, held: i64) -> Self {
        Self {
            name: lane.name.to_string(),
            title: lane.title.clone(),
            role: lane.role.as_ref().map(ToString::to_string),
            status: lane.status.as_str(),
            branch: lane.branch.clone(),
            base: lane.base.clone(),
            worktree: lane.worktree.clone(),
            wip_limit: lane.wip_limit,
            provider: lane.provider.as_ref().map(ToString::to_string),
            backend: lane.backend.clone(),
            held,
            created_at: lane.created_at.to_string(),
        }
    }
}

/// A lane's whole present.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LaneDetailView {
    /// The lane.
    pub lane: LaneView,
    /// The sessions that are attached to it now; final ones while they have a claim.
    pub sessions: Vec<SessionOverviewView>,
    /// The tasks that are held in it.
    pub tasks: Vec<TaskView>,
    /// The newest checkpoint of each of them.
    pub checkpoints: Vec<CheckpointView>,
    /// The open handoffs to it.
    pub handoffs: Vec<HandoffView>,
    /// How many messages to it are not settled.
    pub messages: i64,
}
