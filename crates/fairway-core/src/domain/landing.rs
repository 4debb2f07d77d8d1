//! A landing: an attempt to bring a lane's work into its base, and why it did not land.

use std::fmt;

use serde::Serialize;

use super::string_enum::string_enum;
use super::{LaneName, TaskId, commit_id};
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

impl LandStyle {
    /// The command of git that brings a base into work, so that the work can land in this style.
    pub const fn by_hand(self) -> &'static str {
        if matches!(self, Self::Rebase) { "rebase" } else { "merge" }
    }
}

string_enum! {
    /// By what work lands.
    LandThrough {
        /// By a move of the base.
        Base => "base",
        /// By a pull request, which the forge merges.
        Pr => "pr",
    }
}

string_enum! {
    /// A line at the end of the message of what lands.
    LandTrailer {
        /// Each task.
        Task => "Fairway-Task",
        Lane => "Fairway-Lane",
        /// Each agent that worked on it, with its models.
        AssistedBy => "Assisted-by",
        /// Each person who approved the commit.
        ReviewedBy => "Reviewed-by",
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

/// A command of `land.regenerate` that did not write its file anew on the merged tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRegeneration {
    /// The work that was to land.
    pub of: String,
    pub base: String,
    pub file: String,
    pub command: String,
    /// A clause without a subject.
    pub why: String,
    /// The file with the output of the command; `None` when it did not run.
    pub output: Option<String>,
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
    /// Whether the base alone was tried, and passes.
    pub base_passes: bool,
    /// The scripts of the check that were taken from the base. With those of the merged tree it passes.
    pub scripts: Vec<String>,
    /// The work that landed since the lane last had the base's newest commit.
    pub with: Vec<String>,
    pub fails_with: FailsWith,
    /// What the search for the cause ran.
    pub runs: Vec<CauseRun>,
    /// The number of its evidence, if a task has it.
    pub evidence: Option<i64>,
    pub output: String,
    /// What the author does next, when no session gets a message about it: `PURPOSE: COMMAND`.
    pub next: Option<String>,
}

/// The work, landed meanwhile, with which a check fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailsWith {
    /// The search was not made, or found nothing.
    Unknown,
    /// None of it: the check fails without it too.
    Nothing,
    /// All of this work, and no part of it.
    Landed(Vec<LandedWork>),
}

/// Work in the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LandedWork {
    /// Its tasks, else its lane.
    pub of: String,
    pub lane: Option<LaneName>,
    /// Its commit in the base.
    pub commit: String,
    /// The commit of the base before it.
    #[serde(skip)]
    pub before: String,
}

/// A run of a failed check in the search for the cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CauseRun {
    /// The landed work in the tree.
    pub with: Vec<String>,
    /// Whether the work that was sent back is in the tree.
    pub has_work: bool,
    pub passes: bool,
}

impl FailsWith {
    /// All landed work together with which the check fails.
    pub fn landed(&self) -> &[LandedWork] {
        if let Self::Landed(all) = self { all } else { &[] }
    }

    /// The one landed work with which the check fails.
    pub fn one(&self) -> Option<&LandedWork> {
        if let [one] = self.landed() { Some(one) } else { None }
    }

    /// Whether the check fails without the landed work; `None` when that is unknown.
    pub fn is_alone(&self) -> Option<bool> {
        (*self != Self::Unknown).then_some(*self == Self::Nothing)
    }
}

impl fmt::Display for CauseRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with = self.with.join(", ");
        match (self.has_work, self.with.is_empty()) {
            (true, true) => write!(f, "alone: ")?,
            (true, false) => write!(f, "with {with}: ")?,
            (false, _) => write!(f, "{with} without it: ")?,
        }
        write!(f, "{}", if self.passes { "passes" } else { "fails" })
    }
}

impl FailedLandCheck {
    /// What fails which check, where and how.
    pub fn head(&self) -> String {
        let Self { of, base, check, how, scripts, .. } = self;
        let after = commit_id::short(&self.base_commit);
        let by = if scripts.is_empty() { String::new() } else { format!(" with {} of {base}", scripts.join(", ")) };
        format!("{of} fails the check '{check}'{by} on the merged tree of {base} at {after} ({how})")
    }

    /// What was run on other trees, and what came of it; empty when nothing was.
    pub fn other_runs(&self) -> String {
        let base = self.base_passes.then(|| format!("{} without it: passes", self.base));
        let own = (!self.scripts.is_empty()).then(|| format!("with {} as merged: passes", self.scripts.join(", ")));
        base.into_iter().chain(own).chain(self.runs.iter().map(ToString::to_string)).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for FailedLandCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head())?;
        let runs = self.other_runs();
        if !runs.is_empty() {
            write!(f, "; {runs}")?;
        }
        let with: &[String] = if self.runs.is_empty() { &self.with } else { &[] };
        write!(f, "{}", landed_with(with))
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
