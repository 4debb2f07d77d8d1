//! The board as a document: what needs a person, what every lane does, which jobs run. Its form is versioned; keys are only
//! added.

use serde::Serialize;

use super::session_overview::STOPPED;
use super::{CommandView, CostView, HeldTaskView, LandAtWorkView, LaneSetupView, PullRequestView, SessionOverviewView};
use crate::domain::job::JobStatus;
use crate::domain::lane::LaneStatus;
use crate::domain::need::NeedKind;
use crate::domain::overlap::OverlapLevel;

/// The board at one instant.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BoardView {
    /// The version of this form.
    pub version: u32,
    /// The time.
    pub at: String,
    /// The sequence number of the newest event in it.
    pub seq: i64,
    /// The project's name.
    pub project: String,
    /// The items that need a person, most urgent first.
    pub needs_you: Vec<NeedView>,
    /// Numbers.
    pub counts: BoardCountsView,
    /// The lanes: those that need a person first, the most urgent at the top, then the others by name. Closed ones are left out unless something is in them.
    pub lanes: Vec<BoardLaneView>,
    /// The sessions without a lane, oldest first.
    pub sessions: Vec<SessionOverviewView>,
    /// The claims of people, who have no session.
    pub claims: Vec<HeldTaskView>,
    /// Background jobs.
    pub jobs: BoardJobsView,
    /// The landings at work.
    pub landing: LandAtWorkView,
    /// The cost of today (UTC).
    #[serde(flatten)]
    pub cost: CostView,
    /// The number of unread messages to the person who looks; `null` for a session.
    pub inbox: Option<usize>,
}

/// One thing that needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NeedView {
    /// Its id: the same while it lasts.
    pub id: String,
    /// `approval`, `question`, `guard`, `program`, `dead`, `stale`, `lease`, `unfinished`, `landing`, `issue`, `gate`, `review`, `blocked`, `overlap`,
    /// `runs_later`, `take_back`, `host`, `handoff`, `prompt` or `job`.
    pub kind: NeedKind,
    /// The session that it is about.
    pub session_id: Option<String>,
    /// The task that it is about.
    pub task_id: Option<String>,
    /// The lane that it is about.
    pub lane: Option<String>,
    /// Since when; `null` when that is unknown.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub since: Option<String>,
    /// It in one line.
    pub line: String,
    /// The evidence, with its source.
    pub evidence: String,
    /// The commands that settle it, best first.
    pub commands: Vec<CommandView>,
}

impl NeedView {
    /// The symbol of the item's kind, which distinguishes it without colour: `✗` for what is broken, `?` for what waits for an
    /// answer or your turn, `!` for any other decision.
    pub fn shape(&self) -> char {
        match self.kind {
            NeedKind::Dead
            | NeedKind::Orphan
            | NeedKind::Stale
            | NeedKind::HostSilent
            | NeedKind::Landing
            | NeedKind::BaseDiverged
            | NeedKind::TakeBack
            | NeedKind::Job => '✗',
            NeedKind::Question
            | NeedKind::Unfinished
            | NeedKind::Silent
            | NeedKind::Budget
            | NeedKind::Parked
            | NeedKind::Issue
            | NeedKind::Review
            | NeedKind::Handoff => '?',
            _ => '!',
        }
    }
}

impl BoardView {
    /// The line in place of the items when there are none: that nothing needs a person, unless a session has just stopped before
    /// the end of its task.
    pub fn calm_line(&self) -> String {
        let stopped: Vec<String> = self
            .all_sessions()
            .filter(|one| one.shown_activity == Some(STOPPED))
            .map(SessionOverviewView::shown_id)
            .collect();
        match stopped.as_slice() {
            [] => "nothing needs you".to_owned(),
            [one] => format!("{one} has just stopped, and its task is not submitted"),
            several => format!("{} have just stopped, and their tasks are not submitted", several.join(", ")),
        }
    }

    /// The sessions in lanes, then those without one.
    pub fn all_sessions(&self) -> impl Iterator<Item = &SessionOverviewView> {
        self.lanes.iter().flat_map(|lane| &lane.sessions).chain(&self.sessions)
    }

    /// The session with this id; `None` for no id, and for a session that is not shown.
    pub fn session(&self, id: Option<&str>) -> Option<&SessionOverviewView> {
        self.all_sessions().find(|one| Some(one.session.id.as_str()) == id)
    }

    /// The claim of a task; `None` when it has none.
    pub fn held(&self, task: &str) -> Option<&HeldTaskView> {
        let of_sessions = self.all_sessions().flat_map(|one| &one.holds);
        let mut all = self.lanes.iter().flat_map(|lane| &lane.tasks).chain(of_sessions).chain(&self.claims);
        all.find(|held| held.task_id == task)
    }

    /// The index of the lane's most urgent item in `needs_you`. Returns `None` when no item there is about the lane, its
    /// tasks or its sessions.
    pub fn first_need_of(&self, lane: &BoardLaneView) -> Option<usize> {
        let is_here = |need: &NeedView| {
            let is_task = |task: &String| lane.tasks.iter().any(|held| held.task_id == *task);
            let is_session = |id: &String| lane.sessions.iter().any(|one| one.session.id == *id);
            need.lane.as_ref() == Some(&lane.name)
                || need.session_id.as_ref().is_some_and(is_session)
                || need.task_id.as_ref().is_some_and(is_task)
        };
        self.needs_you.iter().position(is_here)
    }
}

/// Numbers of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BoardCountsView {
    /// Claimable now.
    pub ready: i64,
    /// Claimed.
    pub held: i64,
    /// In progress.
    pub in_progress: i64,
    /// Blocked.
    pub blocked: i64,
    /// Submitted.
    pub review: i64,
    /// Neither done nor cancelled.
    pub open: i64,
    /// Done.
    pub done: i64,
    /// Sessions that are not final and not proven dead.
    pub sessions: i64,
    /// Sessions that are proven dead, of those that are shown.
    pub dead_sessions: i64,
}

/// A lane with what goes on in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BoardLaneView {
    /// Its name.
    pub name: String,
    /// `open`, `paused` or `closed`.
    pub status: LaneStatus,
    /// The role that works in it.
    pub role: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// Its base branch.
    pub base: Option<String>,
    /// The lane that it stands on, whose branch is its base; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stands_on: Option<String>,
    /// Its worktree's directory.
    pub worktree: Option<String>,
    /// The host that its worktree is on, with its pid namespace.
    pub host: Option<String>,
    /// Its WIP limit.
    pub wip_limit: Option<i64>,
    /// Its default provider.
    pub provider: Option<String>,
    /// Its claimed tasks.
    pub tasks: Vec<HeldTaskView>,
    /// Its sessions, oldest first; final ones while they have a claim.
    pub sessions: Vec<SessionOverviewView>,
    /// Where its work was when it was last looked at, such as `works on feature/x`; `null` on its branch.
    pub work: Option<String>,
    /// The setup of its worktree; `null` when that is ready, and without commands in `[lanes] setup`.
    pub setup: Option<LaneSetupView>,
    /// Its checks that wait for a slot on this host, oldest first.
    pub waiting_checks: Vec<WaitingCheckView>,
    /// Its newest pull request as of the last sync; `null` without one, and once it was merged.
    pub pull_request: Option<PullRequestView>,
    /// The size of the change against its base when it was last looked at; `null` when it never was, or could not be judged.
    pub diffstat: Option<BoardDiffstatView>,
    /// The overlaps with other lanes and with the base, most serious first, when they were last judged.
    pub overlap: Vec<BoardOverlapView>,
    /// Its cost of today (UTC).
    #[serde(flatten)]
    pub cost: CostView,
}

impl BoardLaneView {
    /// The lane that it stands on, what is unusual about its worktree, and its pull request, as clauses whose subject is the lane, such as `works on feature/x`.
    pub fn clauses(&self) -> impl Iterator<Item = String> {
        let pull = self.pull_request.as_ref().map(|pull| format!("has {}", pull.words));
        let on = self.stands_on.as_ref().map(|lane| format!("stands on {lane}"));
        let setup = self.setup.as_ref().map(LaneSetupView::clause);
        let waiting = self.waiting_checks.iter().map(|one| format!("waits for a slot for checks: {}", one.running));
        on.into_iter().chain(self.work.clone()).chain(setup).chain(waiting).chain(pull)
    }
}

/// A check that waits for a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WaitingCheckView {
    /// The check, such as `T-3 runs 'npm test'`.
    pub what: String,
    /// Since when it waits.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub since: String,
    /// What has the slots, in the same words, with its age.
    pub running: String,
}

/// The size of a lane's change, uncommitted work included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BoardDiffstatView {
    /// The number of changed paths.
    pub files: u64,
    /// The number of added lines.
    pub added: u64,
    /// The number of deleted lines.
    pub deleted: u64,
    /// When it was looked at.
    pub taken_at: String,
}

/// A lane's overlap with another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BoardOverlapView {
    /// The other lane; `null` for the base.
    pub lane: Option<String>,
    /// `conflict`, `rebase`, `adjacent` or `unknown`.
    pub level: OverlapLevel,
    /// The paths of the files.
    pub files: Vec<String>,
}

impl BoardOverlapView {
    /// The overlap in one line, such as `conflict with cart: src/tax.rs`.
    pub fn summary(&self) -> String {
        let other = self.lane.as_deref().unwrap_or("the base");
        match self.files.as_slice() {
            [] => format!("{} with {other}", self.level),
            [file] => format!("{} with {other}: {file}", self.level),
            [file, rest @ ..] => format!("{} with {other}: {file} and {} more", self.level, rest.len()),
        }
    }
}

/// Background jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BoardJobsView {
    /// Starting and running ones, in the order of their start; the newest when there are many.
    pub active: Vec<BoardJobView>,
    /// How many are starting or running.
    pub active_count: usize,
    /// The newest of the last day that failed, timed out or were lost, newest first.
    pub failed: Vec<BoardJobView>,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BoardJobView {
    /// Its id, as every other document names it.
    pub run_id: String,
    /// The session that started it.
    pub session_id: Option<String>,
    /// The command, with secrets masked.
    pub command: String,
    /// Its status.
    pub status: JobStatus,
    /// The time of its start, or of its end.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub since: String,
    /// Its exit code.
    pub exit_code: Option<i64>,
    /// The last line of its output, or why it failed.
    pub last_line: Option<String>,
}
