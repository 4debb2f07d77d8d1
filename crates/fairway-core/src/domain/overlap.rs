//! Overlap: which pairs of lanes change the same files, where, and how certain a collision is.

use std::collections::BTreeMap;

use super::LaneName;
use super::lane_work::WorkState;
use super::string_enum::string_enum;
use crate::env::Timestamp;

string_enum! {
    /// How certain it is that two lanes collide, and in which way.
    OverlapLevel {
        /// Git's merge of the two conflicts.
        Conflict => "conflict",
        /// Git's merge of the lane and its base conflicts.
        Rebase => "rebase",
        /// They change lines close to each other, and merge cleanly.
        Adjacent => "adjacent",
        /// The paths of their tasks overlap, and nothing is written yet.
        Planned => "planned",
        /// It cannot be judged.
        Unknown => "unknown",
        /// An overlap that is gone.
        None => "none",
    }
}

impl OverlapLevel {
    /// Whether sessions are told about an overlap of this level.
    pub const fn is_told(self) -> bool {
        matches!(self, Self::Conflict | Self::Rebase | Self::Adjacent)
    }

    /// The order of severity: 0 is the most serious.
    pub fn rank(self) -> usize {
        Self::ALL.iter().position(|level| *level == self).unwrap_or(usize::MAX)
    }
}

/// Lines of a file, numbered as in the commit where the work left its base: `start` is the first, `end` the one after the
/// last. For an insertion both are the line that it comes before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRange {
    /// The first line, from 1.
    pub start: u64,
    /// The line after the last one.
    pub end: u64,
    /// The digest of the change.
    pub digest: String,
    /// Whether every changed line is an entry of a list: it registers something, or ends as an element does.
    pub is_list: bool,
}

/// A path that a lane changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotPath {
    /// The path, from the top of the worktree.
    pub path: String,
    /// A, M, D or T as git says it; N for a path that is known by its name only.
    pub letter: char,
    /// The changed lines; `None` where they are not known.
    pub lines: Option<Vec<LineRange>>,
}

/// The worktree of a lane when it was last looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneSnapshot {
    pub lane: LaneName,
    /// The host of the worktree.
    pub host: String,
    /// The commit that was checked out.
    pub tip: Option<String>,
    /// The commit where the work left the base.
    pub fork: Option<String>,
    /// The commit of the base.
    pub base_tip: Option<String>,
    /// The digest of everything that a merge depends on.
    pub digest: String,
    pub commit: Option<String>,
    /// The changed paths, ordered by name.
    pub paths: Vec<SnapshotPath>,
    pub added: u64,
    pub deleted: u64,
    pub taken_at: Timestamp,
    /// Why the worktree could not be judged.
    pub unknown: Option<String>,
    /// How that which was checked out stood to the lane's branch; `None` in a snapshot of an earlier version.
    pub work: Option<WorkState>,
    /// The digest at the time when the snapshot was compared with every other lane's.
    pub judged: Option<String>,
}

impl LaneSnapshot {
    /// Whether the snapshot must still be compared with those of the other lanes.
    pub fn is_pending(&self) -> bool {
        self.judged.as_ref() != Some(&self.digest)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlapFile {
    pub path: String,
    pub level: OverlapLevel,
    /// The lines that both change, as first and last line; empty where they are not known.
    pub lines: Vec<(u64, u64)>,
    /// Whether the lines are adjacent only as entries of a list; sessions are not told of such a file.
    pub in_list: bool,
}

/// The files of an overlap of which sessions were told, with the level.
pub type ToldFiles = BTreeMap<String, OverlapLevel>;

/// Two lanes that collide, or a lane that collides with its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneOverlap {
    /// The lane; of two lanes the one whose name is first.
    pub lane: LaneName,
    /// The other lane; `None` for the base.
    pub other: Option<LaneName>,
    /// The most serious level of its files.
    pub level: OverlapLevel,
    /// The files, ordered by path.
    pub files: Vec<OverlapFile>,
    /// Why it cannot be judged.
    pub why: Option<String>,
    pub since: Timestamp,
    pub told: ToldFiles,
}

impl LaneOverlap {
    /// The files that the sessions must still be told about, because they do not know of the overlap in the file yet, or its
    /// level has become more serious. A file whose level is not reported to sessions is left out, and so is one in which only
    /// entries of a list are adjacent.
    pub fn untold(&self) -> Vec<&OverlapFile> {
        let is_new = |file: &&OverlapFile| {
            file.level.is_told()
                && !file.in_list
                && self.told.get(&file.path).is_none_or(|told| file.level.rank() < told.rank())
        };
        self.files.iter().filter(is_new).collect()
    }

    /// Whether sessions are told about at least one of the files.
    pub fn is_told(&self) -> bool {
        self.level.is_told() && self.files.iter().any(|file| !file.in_list)
    }

    pub fn involves(&self, lane: &LaneName) -> bool {
        self.lane == *lane || self.other.as_ref() == Some(lane)
    }

    /// The other lane of the pair: the one that is not `lane`. Returns `None` when the lane overlaps with the base.
    pub fn counterpart(&self, lane: &LaneName) -> Option<&LaneName> {
        if self.lane == *lane { self.other.as_ref() } else { Some(&self.lane) }
    }
}
