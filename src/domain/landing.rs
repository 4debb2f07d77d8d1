//! A landing: an attempt to bring a lane's work into its base, and why it did not land.

use std::fmt;

use serde::Serialize;

use super::{LaneName, TaskId, commit_id, string_enum::string_enum};
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
    pub id: i64,
    /// The lane; `None` for a task without one.
    pub lane: Option<LaneName>,
    pub commit: String,
    pub style: LandStyle,
    pub base: String,
    /// The commit of the base before the landing.
    pub base_before: String,
    /// The commit that the base gets; `None` before it is made.
    pub candidate: Option<String>,
    pub state: LandingState,
    /// Where its candidate is pushed before the base moves, such as `origin/main`; `None` where it is not.
    pub push_to: Option<String>,
    /// The tasks that land, each with its epoch.
    pub tasks: Vec<(TaskId, i64)>,
    /// Why it did not land.
    pub error: Option<String>,
    /// The name of the host in whose repository it lands, for people; `None` for a landing of an earlier version.
    pub host: Option<String>,
    pub host_id: Option<String>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// The prefix of the refs that hold candidates.
pub const REF_PREFIX: &str = "refs/fairway/land/";

impl Landing {
    /// Whether the landing only updates the base to its upstream, without work of a lane or task.
    pub fn is_base_alone(&self) -> bool {
        self.lane.is_none() && self.tasks.is_empty()
    }

    /// Whether the remote may already have the candidate, even if the local base does not.
    pub fn may_be_pushed(&self) -> bool {
        self.state == LandingState::Moving && self.push_to.is_some()
    }

    /// The name of the git ref that holds the candidate.
    pub fn ref_name(&self) -> String {
        format!("{REF_PREFIX}{}", self.id)
    }
}

/// A check that what was to land fails on the merged tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedLandCheck {
    /// The work that was to land.
    pub of: String,
    pub base: String,
    /// The commit of the base, after which it fails.
    pub base_commit: String,
    pub candidate: String,
    /// The name of the check, else its command.
    pub check: String,
    pub how: String,
    /// The work that landed since the lane last had the base's newest commit.
    pub with: Vec<String>,
    pub fails_with: FailsWith,
    /// The number of its evidence, if a task has it.
    pub evidence: Option<i64>,
    pub output: String,
    pub lane: Option<LaneName>,
    /// Whether the base has commits that the work lacks.
    pub is_behind: bool,
}

/// The work, landed meanwhile, with which a check fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FailsWith {
    /// The search was not made, or found nothing.
    Unknown,
    /// None of it: the check fails without it too.
    Nothing,
    /// This work. The check passes on each of the two without the other.
    Other {
        /// Its task, else its lane.
        of: String,
        lane: Option<LaneName>,
        /// Its commit in the base.
        commit: String,
    },
}

impl fmt::Display for FailedLandCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, base, check, how, with, .. } = self;
        let after = commit_id::short(&self.base_commit);
        write!(f, "{of} fails the check '{check}' on the merged tree of {base} at {after} ({how})")?;
        match &self.fails_with {
            FailsWith::Unknown => write!(f, "{}", landed_with(with)),
            FailsWith::Nothing => write!(f, "; it fails without what landed since, too"),
            FailsWith::Other { of, commit, .. } => {
                write!(f, "; it passes without {of}, which landed as {}, and fails with it", commit_id::short(commit))
            }
        }
    }
}

/// A cause, other than the work itself, that kept work from landing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// The base alone fails a check.
    BaseRed,
    /// A check finds no program.
    ProgramMissing,
    /// A command that prepares the tree for the checks fails.
    PrepareFailed,
}

/// A command of a landing that failed, and not because of the work that was to land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoppedLanding {
    /// The work that was to land.
    #[serde(skip)]
    pub of: String,
    pub base: String,
    pub command: String,
    #[serde(skip)]
    pub cause: StopCause,
    #[serde(skip)]
    pub how: String,
    /// Whether it failed on the base alone.
    #[serde(rename = "on_base")]
    pub is_base: bool,
    /// Whether every other landing would fail too.
    pub stops_all: bool,
    pub output: String,
}

impl fmt::Display for StoppedLanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, base, command, how, .. } = self;
        match (self.cause, self.is_base) {
            (StopCause::PrepareFailed, true) => write!(f, "the preparation '{command}' fails on {base} alone ({how})")?,
            (StopCause::PrepareFailed, false) => write!(
                f,
                "the preparation '{command}' fails on the merged tree of {of} and {base} ({how}), and passes on {base} alone"
            )?,
            (StopCause::ProgramMissing, _) => {
                write!(f, "the check '{command}' finds no program ({how}), on {base} alone neither")?;
            }
            (StopCause::BaseRed, _) => write!(f, "{base} alone fails the check '{command}' ({how})")?,
        }
        write!(f, "; {of} is not sent back{}", if self.stops_all { ", and nothing more lands" } else { "" })
    }
}

/// A clause with the names of up to three pieces of work that have landed since the lane last contained the base. It is empty
/// when nothing has.
pub(super) fn landed_with(with: &[String]) -> String {
    const MAX_LISTED: usize = 3;
    let listed = with.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match with.len().saturating_sub(MAX_LISTED) {
        _ if with.is_empty() => String::new(),
        0 => format!("; landed since: {listed}"),
        more => format!("; landed since: {listed} and {more} more"),
    }
}
