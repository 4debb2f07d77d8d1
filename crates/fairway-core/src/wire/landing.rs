//! Landings as documents.

use serde::Serialize;

use super::Failure;
use crate::domain::landing::LandStyle;
use crate::domain::pull_request::LanePullRequest;
use crate::env::Timestamp;

/// The answer of `fairway land`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandView {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The order of landing.
    pub order: Vec<LandOrderView>,
    /// The result of each landing, in the order in which it was tried.
    pub landings: Vec<LandingView>,
}

/// A commit that is to land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandOrderView {
    /// The lane; null for a task without one.
    pub lane: Option<String>,
    /// The tasks that land with it.
    pub tasks: Vec<String>,
    /// The commit.
    pub commit: String,
    /// The base.
    pub base: String,
}

/// The result of a landing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandingView {
    /// The number of the landing; null when none was begun.
    pub id: Option<i64>,
    /// landed, proposed, `would_land`, `sent_back`, `not_ready`, skipped or failed.
    pub state: &'static str,
    /// The lane; null for a task without one.
    pub lane: Option<String>,
    /// The tasks.
    pub tasks: Vec<String>,
    /// The commit of the lane.
    pub commit: String,
    /// The base.
    pub base: String,
    /// The commit of the base before; null when it was not looked at.
    pub base_before: Option<String>,
    /// The commit that the base got or would get; null when none was made.
    pub candidate: Option<String>,
    /// merge, squash or rebase.
    pub style: LandStyle,
    /// The checks that ran on the candidate.
    pub checks: Vec<LandCheckView>,
    /// The tasks and lanes that landed in one move of the base, this one included; empty when it landed alone.
    pub batch: Vec<String>,
    /// The branch of a remote that has it, such as `origin/main`; null where it was not pushed.
    pub pushed: Option<String>,
    /// Its pull request; null where it lands without one.
    pub pull_request: Option<PullRequestView>,
    /// The lanes that now conflict with the base, and were told.
    pub told: Vec<LandToldView>,
    /// The directory of the lane's worktree that was removed.
    pub removed_worktree: Option<String>,
    /// The agents that ended with the lane.
    pub ended: Vec<String>,
    /// Why it did not land; null when it did.
    pub error: Option<Failure>,
    /// Notes.
    pub notes: Vec<String>,
}

/// The open pull requests, as the forge has told of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PullSyncsView {
    /// One for each, the oldest first.
    pub pull_requests: Vec<PullSyncView>,
}

/// A pull request, and what became of its work.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PullSyncView {
    /// The lane.
    pub lane: String,
    /// The tasks that it lands.
    pub tasks: Vec<String>,
    /// The pull request.
    pub pull_request: PullRequestView,
    /// Whether its author was told now what is to be mended.
    pub told: bool,
    /// The landing that its merge made; null without one.
    pub landing: Option<LandingView>,
    /// What the forge did not do.
    pub notes: Vec<String>,
}

/// A pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PullRequestView {
    /// Its number at the forge.
    pub number: i64,
    /// Its address.
    pub url: String,
    /// open, merged or closed.
    #[cfg_attr(feature = "schemas", schemars(with = "crate::domain::pull_request::PullState"))]
    pub state: &'static str,
    /// What is to be known about it; empty for nothing.
    pub summary: String,
    /// What was written there that no agent is told: data of strangers, a line for each, with its author.
    pub for_people: Vec<String>,
    /// When the forge was asked about it; null before the first time.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub synced_at: Option<String>,
    /// It in a few words, with the age of what is known.
    #[serde(skip)]
    pub words: String,
}

impl PullRequestView {
    /// `None` while the forge has not answered yet.
    pub fn of(pull: &LanePullRequest, now: Timestamp) -> Option<Self> {
        let (words, url) = pull.words(now).zip(pull.url.clone())?;
        Some(Self {
            number: pull.number?,
            url,
            state: pull.state.as_str(),
            summary: pull.summary.clone(),
            for_people: pull.for_people.lines().map(str::to_owned).collect(),
            synced_at: pull.synced_at.map(|at| at.to_string()),
            words,
        })
    }
}

/// A check on the tree of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandCheckView {
    /// The task whose check it is; null for one of the configuration.
    pub task_id: Option<String>,
    /// The name of the task's check; null for one of the configuration.
    pub name: Option<String>,
    /// The command.
    pub command: String,
    /// pass or fail.
    pub result: &'static str,
    /// Whether it passed only when it ran again.
    pub flaky: bool,
    /// The numbers of its evidence.
    pub evidence: Vec<i64>,
}

/// A lane that conflicts with the base since a landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandToldView {
    /// The lane.
    pub lane: String,
    /// `rebase`.
    pub level: &'static str,
    /// The files that conflict.
    pub files: Vec<String>,
    /// The command that brings the base into the lane.
    pub command: String,
}

/// Whether landing is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandPausedView {
    /// The pause; null when work lands.
    pub paused: Option<LandPauseView>,
}

/// That nothing lands on this host for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandPauseView {
    /// Who has paused.
    pub by: String,
    /// Since when.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub since: String,
    /// Why; null when it was not told.
    pub reason: Option<String>,
}

/// The landings at work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandAtWorkView {
    /// What lands now: a batch has one for each of its tasks or lanes.
    pub now: Vec<LandNowView>,
    /// The commands that landings of this host run now.
    pub running: Vec<LandRunningView>,
}

impl LandAtWorkView {
    /// The command that runs for the landing at this place: a batch shares its checks.
    pub fn running_for(&self, place: usize) -> Option<&LandRunningView> {
        self.running.get(place).or_else(|| self.running.last())
    }
}

/// The queue of landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandQueueView {
    /// The pause; null when work lands.
    pub paused: Option<LandPauseView>,
    /// What lands now: a batch has one for each of its tasks or lanes.
    pub now: Vec<LandNowView>,
    /// The commands that landings of this host run now.
    pub running: Vec<LandRunningView>,
    /// What `land --all` would try, in its order.
    pub order: Vec<LandOrderView>,
    /// The checks that passed only when they ran again, the most frequent first.
    pub flaky: Vec<FlakyCheckView>,
}

/// A landing that goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandNowView {
    /// The number of the landing.
    pub id: i64,
    /// checking or moving.
    pub state: &'static str,
    /// The lane; null for a task without one.
    pub lane: Option<String>,
    /// The tasks.
    pub tasks: Vec<String>,
    /// The base.
    pub base: String,
    /// The commit that the base would get.
    pub candidate: Option<String>,
    /// The host; null for a landing of an earlier version.
    pub host: Option<String>,
    /// When it was begun.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub since: String,
    /// When it ends if it takes as long as earlier landings in that base; null without one.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub expected_end: Option<String>,
}

/// A command that a landing runs now: a check, or one that prepares for the checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LandRunningView {
    /// The command and what it checks: `checking T-4, T-5: make test`.
    pub what: String,
    /// When it was begun.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub since: String,
    /// The newest lines of its output, with secrets masked.
    pub output: Vec<String>,
}

impl LandNowView {
    /// What lands, in one line: `T-4 (lane cart) in main`.
    pub fn summary(&self) -> String {
        format!("{} in {}", work_name(self.lane.as_deref(), &self.tasks), self.base)
    }
}

/// The name of work that lands: its tasks, with their lane.
pub fn work_name(lane: Option<&str>, tasks: &[String]) -> String {
    match (lane, tasks) {
        (Some(lane), []) => format!("lane {lane}"),
        (Some(lane), tasks) => format!("{} (lane {lane})", tasks.join(" ")),
        (None, tasks) => tasks.join(" "),
    }
}

/// A check that passed only when it ran again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FlakyCheckView {
    /// The command.
    pub command: String,
    /// How often.
    pub count: i64,
}
