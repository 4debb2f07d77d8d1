//! A landing: an attempt to bring a lane's work into its base.

use super::{LaneName, TaskId, string_enum::string_enum};
use crate::env::Timestamp;

string_enum! {
    /// How the work comes into the base.
    LandStyle {
        /// A commit that merges the lane's commit into the base.
        Merge => "merge",
        /// One commit with all changes.
        Squash => "squash",
        /// The lane's commits on top of the base.
        Rebase => "rebase",
    }
}

string_enum! {
    /// What comes first among work that is ready.
    LandOrder {
        /// What lets most land without rework, then the most urgent.
        LeastConflict => "least-conflict",
        /// The most urgent, then what lets most land without rework.
        Priority => "priority",
    }
}

string_enum! {
    /// How far a landing came.
    LandingState {
        /// The candidate is made and checked.
        Checking => "checking",
        /// The base is being moved to the candidate.
        Moving => "moving",
        /// The base has the work.
        Landed => "landed",
        /// The candidate conflicts with the base or fails a check.
        SentBack => "sent_back",
        /// It was interrupted, or the base moved meanwhile.
        Failed => "failed",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// Its number.
    pub id: i64,
    /// The lane; `None` for a task without one.
    pub lane: Option<LaneName>,
    /// The commit that lands.
    pub commit: String,
    /// How it lands.
    pub style: LandStyle,
    /// The name of the base.
    pub base: String,
    /// The commit of the base before.
    pub base_before: String,
    /// The commit that the base gets; `None` before it is made.
    pub candidate: Option<String>,
    /// How far it came.
    pub state: LandingState,
    /// Where its candidate is pushed before the base moves, such as `origin/main`; `None` where it is not.
    pub push_to: Option<String>,
    /// The tasks that land, each with its epoch.
    pub tasks: Vec<(TaskId, i64)>,
    /// Why it did not land.
    pub error: Option<String>,
    /// The name of the host in whose repository it lands, for people; `None` for a landing of an earlier version.
    pub host: Option<String>,
    /// The id of that host.
    pub host_id: Option<String>,
    /// When it was started.
    pub started_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
}

/// The prefix of the refs that hold candidates.
pub const REF_PREFIX: &str = "refs/fairway/land/";

impl Landing {
    /// Whether it only brings the base to its upstream, and no work.
    pub fn is_base_alone(&self) -> bool {
        self.lane.is_none() && self.tasks.is_empty()
    }

    /// Whether its candidate may be at the remote, whatever the base has.
    pub fn may_be_pushed(&self) -> bool {
        self.state == LandingState::Moving && self.push_to.is_some()
    }

    /// The ref that holds the candidate.
    pub fn ref_name(&self) -> String {
        format!("{REF_PREFIX}{}", self.id)
    }
}
