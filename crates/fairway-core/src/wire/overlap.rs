//! Overlap as a document: which lanes and tasks change the same files.

use serde::Serialize;

use super::CommandView;
use crate::domain::overlap::OverlapLevel;

/// The overlaps of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OverlapView {
    /// The time.
    pub at: String,
    /// Why not everything was looked at; null when it was.
    pub problem: Option<String>,
    /// The overlaps, most serious first.
    pub overlaps: Vec<OverlapPairView>,
    /// The lanes that were looked at, by name.
    pub lanes: Vec<OverlapLaneView>,
}

/// Two lanes or tasks that overlap, or a lane that conflicts with its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OverlapPairView {
    /// `conflict`, `rebase`, `adjacent`, `planned` or `unknown`.
    pub level: OverlapLevel,
    /// The lane; null for a task without one.
    pub lane: Option<String>,
    /// The other lane; null for the base, for a lane that cannot be judged, and for a task without one.
    pub other_lane: Option<String>,
    /// The task; only of the level `planned`.
    pub task_id: Option<String>,
    /// The other task; only of the level `planned`.
    pub other_task_id: Option<String>,
    /// The files, by path; of the level `planned` the globs of the tasks.
    pub files: Vec<OverlapFileView>,
    /// Why it cannot be judged; only of the level `unknown`.
    pub why: Option<String>,
    /// Since when; null where that is not recorded.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub since: Option<String>,
    /// The commands that settle it, best first.
    pub commands: Vec<CommandView>,
}

/// A file of an overlap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OverlapFileView {
    /// The path, from the top of the worktree.
    pub path: String,
    /// The level in this file.
    pub level: OverlapLevel,
    /// First and last line of each place, as in the commit where the work left its base; empty where they are not known.
    pub lines: Vec<[u64; 2]>,
    /// Whether the places are adjacent in a list that sorts or registers only: sessions are not told of them.
    pub in_list: bool,
}

/// A lane as it was last looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OverlapLaneView {
    /// The lane.
    pub lane: String,
    /// When it was looked at.
    pub taken_at: String,
    /// Whether its worktree is on this host.
    pub is_local: bool,
    /// The commit that was checked out; null when it could not be judged.
    pub commit: Option<String>,
    /// The number of changed paths, uncommitted ones included.
    pub files: usize,
    /// The number of added lines.
    pub added: u64,
    /// The number of deleted lines.
    pub deleted: u64,
    /// Why it could not be judged.
    pub unknown: Option<String>,
}
