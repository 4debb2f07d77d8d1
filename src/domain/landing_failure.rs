//! Why work did not land: a check that it fails, or a command that fails for another reason.

use std::fmt;

use serde::Serialize;

use super::{LaneName, commit_id};

/// A check that what was to land fails on the merged tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedLandCheck {
    /// The work that was to land.
    pub of: String,
    pub base: String,
    /// The commit of the base, after which it fails.
    pub base_commit: String,
    /// The commit that was checked.
    pub candidate: String,
    /// The name of the check, else its command.
    pub check: String,
    /// How the check ended.
    pub how: String,
    /// The work that landed since the lane last had the base.
    pub with: Vec<String>,
    /// What of that it fails with.
    pub fails_with: FailsWith,
    /// The number of its evidence, if a task has it.
    pub evidence: Option<i64>,
    /// The file with the check's output.
    pub output: String,
    pub lane: Option<LaneName>,
    /// Whether the base has commits that the work lacks.
    pub is_behind: bool,
}

/// What of the work that landed meanwhile a check fails with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FailsWith {
    /// It was not looked for, or not found.
    Unknown,
    /// Nothing: it fails without any of it.
    Nothing,
    /// This work. The check passes on each of the two without the other.
    Other {
        /// Its task, else its lane.
        of: String,
        /// The lane whose sessions can be asked.
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

/// What kept work from landing that is not the work itself.
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
    /// How the command ended.
    #[serde(skip)]
    pub how: String,
    /// Whether it failed on the base alone.
    #[serde(rename = "on_base")]
    pub is_base: bool,
    /// Whether every other landing would fail too.
    pub stops_all: bool,
    /// The file with the command's output.
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

/// The names of the work that landed since a lane last had the base.
pub(super) fn landed_with(with: &[String]) -> String {
    const MAX_LISTED: usize = 3;
    let listed = with.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match with.len().saturating_sub(MAX_LISTED) {
        _ if with.is_empty() => String::new(),
        0 => format!("; landed since: {listed}"),
        more => format!("; landed since: {listed} and {more} more"),
    }
}
