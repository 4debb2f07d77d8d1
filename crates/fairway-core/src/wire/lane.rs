//! A lane as a document.

use serde::Serialize;

use super::{PullRequestView, SessionOverviewView, TaskView};
use crate::domain::checkpoint::Checkpoint;
use crate::domain::handoff::Handoff;
use crate::domain::lane::{Lane, LaneStatus, SetupState};
use crate::domain::pull_request::LanePullRequest;
use crate::domain::sandbox::SandboxClass;
use crate::env::Timestamp;

/// A lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaneView {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub title: Option<String>,
    /// The role that works in it.
    pub role: Option<String>,
    /// open, paused, closed.
    pub status: LaneStatus,
    /// Its branch.
    pub branch: Option<String>,
    /// The branch it came from.
    pub base: Option<String>,
    /// Its worktree's directory.
    pub worktree: Option<String>,
    /// The host that its worktree is on, with its pid namespace; null without a worktree, and in a lane of an earlier version.
    pub host: Option<String>,
    /// The name of that host, when it is another one.
    #[serde(skip)]
    pub other_host: Option<String>,
    /// How many tasks may be held in it at once.
    pub wip_limit: Option<i64>,
    /// Its default provider.
    pub provider: Option<String>,
    /// Its default backend.
    pub backend: Option<String>,
    /// The sandbox that each session in it has at least.
    pub sandbox: SandboxClass,
    /// How many tasks are held in it.
    pub held: i64,
    /// When it was added.
    pub created_at: String,
    /// The state of its worktree; only in `lane show` and `lane list --git`, and null without a worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Option<LaneGitView>>,
    /// Whether its worktree was set up; null without commands in `[lanes] setup`, and for a worktree that Fairway did not make or
    /// that is on another host. Only in `lane show`, `lane list` and `lane setup`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<Option<LaneSetupView>>,
    /// The first of the ten TCP ports of its worktree; null before a program there needed them. Only in `lane show` and `lane list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Option<u16>>,
    /// How many bytes its worktree takes, and a file with several names only in the first lane that has it; null without a worktree
    /// here. Only in `lane list --size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Option<u64>>,
    /// The lane that it stands on: the lane's base is the branch of that one. Absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stands_on: Option<String>,
    /// Its newest pull request as of the last sync; null without one, and once it was merged. Only in `lane show` and `lane list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<Option<PullRequestView>>,
}

/// The setup of a lane's worktree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaneSetupView {
    /// not_set_up, setting_up, ready, setup_failed.
    pub state: SetupState,
    /// The command that failed.
    pub command: Option<String>,
    /// How it failed.
    pub how: Option<String>,
    /// The end of its output.
    pub output: Option<String>,
    /// The file with the whole output of the last setup; null before there was one.
    pub log: Option<String>,
}

impl LaneView {
    /// Adds the lane's pull request, one of these.
    pub fn add_pull(&mut self, pulls: &[LanePullRequest], now: Timestamp) {
        let pull = pulls.iter().find(|pull| pull.lane.as_str() == self.name);
        self.pull_request = Some(pull.and_then(|pull| PullRequestView::of(pull, now)));
    }
}

impl LaneSetupView {
    /// The state as a clause whose subject is the lane.
    pub fn clause(&self) -> String {
        match self.state {
            SetupState::SettingUp => "is being set up".to_owned(),
            SetupState::Failed => format!("is not ready, {}", self.words()),
            _ => format!("is {}", self.words()),
        }
    }

    /// The state in words, with the reason of a failure.
    pub fn words(&self) -> String {
        let state = self.state.as_str().replace('_', " ");
        match (&self.command, &self.how) {
            (Some(command), Some(how)) => format!("{state}: '{command}' ({how})"),
            _ => state,
        }
    }
}

/// The state of a lane's worktree, as git sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaneGitView {
    /// The directory.
    pub worktree: String,
    /// The branch that is checked out; null for none.
    pub branch: Option<String>,
    /// Where the lane's work is, such as `works on feature/x`; null on the lane's branch.
    pub work: Option<String>,
    /// The branch that it is compared with.
    pub base: String,
    /// The commit that is checked out.
    pub commit: Option<String>,
    /// The number of commits that the base lacks.
    pub ahead: Option<u64>,
    /// The number of commits that only the base has.
    pub behind: Option<u64>,
    /// Whether it has changes that are in no commit.
    pub dirty: Option<bool>,
    /// The number of files with such changes.
    pub changed_files: Option<usize>,
    /// The submodules with work that is nowhere else, each with that work; only `lane show` looks into them.
    pub submodules: Vec<String>,
    /// Why a value is unknown; null when all are known.
    pub problem: Option<String>,
}

impl LaneView {
    /// The view of a lane in which `held` tasks are claimed.
    pub fn new(lane: &Lane, held: i64) -> Self {
        Self {
            name: lane.name.to_string(),
            title: lane.title.clone(),
            role: lane.role.as_ref().map(ToString::to_string),
            status: lane.status,
            branch: lane.branch.clone(),
            base: lane.base.clone(),
            worktree: lane.worktree.clone(),
            host: lane.host.clone(),
            other_host: None,
            wip_limit: lane.wip_limit,
            provider: lane.provider.as_ref().map(ToString::to_string),
            backend: lane.backend.clone(),
            sandbox: lane.sandbox,
            held,
            created_at: lane.created_at.to_string(),
            git: None,
            setup: None,
            port: None,
            bytes: None,
            stands_on: None,
            pull_request: None,
        }
    }
}

/// A lane's whole present.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaneDetailView {
    /// The lane.
    pub lane: LaneView,
    /// The sessions that are attached to it now; final ones while they have a claim.
    pub sessions: Vec<SessionOverviewView>,
    /// The tasks that are held in it.
    pub tasks: Vec<TaskView>,
    /// The newest checkpoint of each of them.
    pub checkpoints: Vec<Checkpoint>,
    /// The open handoffs to it.
    pub handoffs: Vec<Handoff>,
    /// How many messages to it are not settled.
    pub messages: i64,
}

/// The difference between a lane's worktree and a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaneDiffView {
    /// The lane.
    pub lane: String,
    /// The worktree's directory.
    pub worktree: String,
    /// The branch that is checked out; null for none.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub commit: String,
    /// The lane's base.
    pub base: String,
    /// The commit that the worktree is compared with.
    pub since: String,
    /// The files that differ, by path.
    pub files: Vec<FileDiffView>,
    /// The number of added lines.
    pub added: u64,
    /// The number of deleted lines.
    pub deleted: u64,
    /// The paths in `files` that programs of the person would run or read later: settings of editors, agents, shells and git, and hooks.
    pub runs_later: Vec<String>,
    /// The paths in `files` at which a FIFO, a socket or a device stands now. Git keeps no such file: they count as deleted.
    pub special_files: Vec<String>,
    /// The paths of repositories in the worktree that git does not track. Nothing inside of them is in `files`.
    pub repositories: Vec<String>,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FileDiffView {
    /// Its path.
    pub path: String,
    /// Its path before it was renamed or copied.
    pub old_path: Option<String>,
    /// added, copied, deleted, modified, renamed, type_changed, unmerged.
    pub status: &'static str,
    /// The number of added lines; null for a binary file.
    pub added: Option<u64>,
    /// The number of deleted lines; null for a binary file.
    pub deleted: Option<u64>,
}

/// The result of `lane sync`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaneSyncView {
    /// The lane.
    pub lane: String,
    /// The worktree's directory.
    pub worktree: String,
    /// Its branch.
    pub branch: String,
    /// The base.
    pub base: String,
    /// The commit of the base.
    pub base_commit: String,
    /// up_to_date, fast_forward, merge, rebase.
    pub how: &'static str,
    /// The number of commits that the branch lacked.
    pub behind: u64,
    /// The commit of the branch before.
    pub from: String,
    /// The commit of the branch afterwards; null in a dry run that would make one.
    pub to: Option<String>,
    /// Whether nothing was changed because of `--dry-run`.
    pub dry_run: bool,
}

/// The result of `lane prune`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LanePruneView {
    /// Whether nothing was removed because of `--dry-run`.
    pub dry_run: bool,
    /// The lanes whose worktree was removed, or would be.
    pub removed: Vec<PrunedLaneView>,
    /// The lanes whose worktree stays.
    pub kept: Vec<KeptLaneView>,
}

/// A lane whose worktree was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PrunedLaneView {
    /// The lane.
    pub lane: String,
    /// The directory.
    pub worktree: String,
    /// The branch that was deleted; null when it stays or was gone.
    pub branch: Option<String>,
    /// The commit of that branch.
    pub commit: Option<String>,
    /// The agents that ended with it, or would.
    pub ended: Vec<String>,
}

/// The result of `lane trim`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaneTrimView {
    /// Whether nothing was removed because of `--dry-run`.
    pub dry_run: bool,
    /// How many bytes the removed directories took.
    pub bytes: u64,
    /// The lanes of which directories were removed, or would be.
    pub trimmed: Vec<TrimmedLaneView>,
    /// The lanes with a live session or job.
    pub kept: Vec<KeptLaneView>,
}

/// A lane of which directories were removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TrimmedLaneView {
    /// The lane.
    pub lane: String,
    /// The directory of its worktree.
    pub worktree: String,
    /// The paths of the removed directories, from there.
    pub paths: Vec<String>,
    /// How many bytes they took.
    pub bytes: u64,
}

/// A lane whose worktree stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KeptLaneView {
    /// The lane.
    pub lane: String,
    /// The directory.
    pub worktree: String,
    /// The code of the reason.
    pub code: String,
    /// The reason.
    pub why: String,
    /// The command that changes it.
    pub command: String,
}

impl KeptLaneView {
    pub fn new(lane: &Lane, code: &str, why: String, command: String) -> Self {
        let worktree = lane.worktree.clone().unwrap_or_default();
        Self { lane: lane.name.to_string(), worktree, code: code.to_owned(), why, command }
    }
}
