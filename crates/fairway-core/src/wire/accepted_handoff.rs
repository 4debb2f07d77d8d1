//! An accepted handoff as a document.

use serde::Serialize;

use super::lane::LaneSyncView;
use crate::domain::handoff::Handoff;

/// `handoff accept`: the handoff, and who has its task now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AcceptedHandoffView {
    /// The handoff.
    #[serde(flatten)]
    pub handoff: Handoff,
    /// The claimant of the task; `None` when it is not claimed.
    pub claimant: Option<String>,
    /// The claim's epoch.
    pub epoch: Option<i64>,
    /// Where the work is that is handed over; `null` when nothing was begun, or not on this host.
    pub work: Option<HandedWorkView>,
    /// `--move`: how the commits came into the acceptor's lane; `null` when none moved.
    pub moved: Option<LaneSyncView>,
}

/// The work of a task that is handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HandedWorkView {
    /// Its lane; `null` for the worktree of a session without a lane.
    pub lane: Option<String>,
    /// The worktree.
    pub worktree: String,
    /// Its branch; `null` when none is checked out.
    pub branch: Option<String>,
    /// The number of commits that the base branch lacks; `null` when it is unknown.
    pub commits: Option<u64>,
    /// Whether there are changes that are not committed.
    pub has_changes: bool,
}
