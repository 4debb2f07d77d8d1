//! A session with what is known of it besides its row, and a claimant's session beside a task.

use std::borrow::Cow;

use serde::Serialize;

use super::SessionView;
use super::values::time;
use crate::domain::blocker::Blocker;
use crate::domain::ended_turn::{EndedTurn, TurnEnd};
use crate::domain::other_host::OtherHost;
use crate::domain::parking::{ParkingCause, ParkingKind};
use crate::domain::sandbox::SandboxClass;
use crate::domain::session::{NO_END, Session, SessionStatus};
use crate::domain::session_facts::{
    AliveSource, Aliveness, Doing, HeldTask, NextCommand, Seen, SeenBy, SessionOverview,
};
use crate::domain::task::TaskStatus;
use crate::os::host;

/// The shown activity of a session that has ended its turn with an unfinished task.
pub(super) const STOPPED: &str = "stopped";

/// A session in a list: its members, and what is known besides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionOverviewView {
    /// The session.
    #[serde(flatten)]
    pub session: SessionView,
    /// Whether it is alive.
    #[serde(flatten)]
    pub alive: AliveView,
    /// The tasks that it has claimed.
    pub holds: Vec<HeldTaskView>,
    /// The activity in its own words.
    pub doing: Option<DoingView>,
    /// When it was last seen.
    pub seen_at: String,
    /// By what: `heartbeat`, `output` or `start`.
    pub seen_by: SeenBy,
    /// Where its activity was reported from.
    pub activity_source: Option<String>,
    /// Since when it has this activity, as reported.
    pub activity_at: Option<String>,
    /// What the end of its turn means, while it is idle and has a task in progress; null otherwise.
    pub turn_end: Option<TurnEndView>,
    /// Until when it is parked, and why; null when it is not.
    pub parked: Option<ParkedView>,
    /// Why it counts as stale by its silence, before that is recorded as its status; null otherwise.
    pub silence: Option<String>,
    /// Why its agent may run a tool without asking; null for one that asks, and for a session in a terminal.
    pub unguarded: Option<String>,
    /// The name of its host, when that is another one; null otherwise.
    pub other_host: Option<String>,
    /// Who stopped it on purpose; null for an end of its own.
    pub stopped_by: Option<String>,
    /// The way on for the claims of a session that was stopped on purpose.
    #[serde(skip)]
    pub release: Option<String>,
    /// `stopped by you`, of a session that was stopped on purpose.
    #[serde(skip)]
    pub shown_stop: Option<String>,
    /// `parked until 17:00 (usage limit of NAME)`, of a parked session.
    #[serde(skip)]
    pub parking: Option<String>,
    /// Whether it can be relaunched by its id alone.
    #[serde(skip)]
    pub can_relaunch: bool,
    /// When a running board saw its process end, before that is recorded.
    #[serde(skip)]
    pub noticed_at: Option<String>,
    /// The status for people, `dead` among them. JSON has `status` and `alive`.
    #[serde(skip)]
    pub shown_status: &'static str,
    /// The activity for people; `None` when it says nothing about now.
    #[serde(skip)]
    pub shown_activity: Option<&'static str>,
}

/// The state of a session as every surface shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownState<'a> {
    /// The shape that tells it apart without colour: `✗` over or stale, `?` waits for a person, `●` active, `○` idle, `·` unknown.
    pub shape: char,
    /// It in a word.
    pub word: &'a str,
    /// Since when; `None` when that is unknown.
    pub since: Option<&'a str>,
    /// Where it was reported from.
    pub source: &'a str,
}

impl SessionOverviewView {
    /// The session's id, followed by the name of its host when it is not on this host.
    pub fn shown_id(&self) -> String {
        let id = &self.session.id;
        self.other_host.as_ref().map_or_else(|| id.clone(), |host| format!("{id} on {host}"))
    }

    /// Returns `not guarded` for a session whose agent may run a tool without asking. Returns `None` for any other session,
    /// and for one that is dead, failed or ended.
    pub fn guard_mark(&self) -> Option<&'static str> {
        let is_over = matches!(self.shown_status, "dead" | "failed" | "ended");
        (self.unguarded.is_some() && !is_over).then_some("not guarded")
    }

    /// Returns, for example, `sandbox namespace` when the session's program runs in a sandbox, else `None`.
    pub fn sandbox_mark(&self) -> Option<String> {
        let class = self.session.sandbox.filter(|class| *class != SandboxClass::Off)?;
        Some(format!("sandbox {class}"))
    }

    /// Whether the session has this claim.
    pub fn shows(&self, held: &HeldTaskView) -> bool {
        self.holds.iter().any(|other| other.task_id == held.task_id)
    }

    /// The reason why its task is blocked, else the text that describes its activity, else the task that it was launched for and
    /// has not claimed; `None` when none of these is known.
    pub fn work_line(&self) -> Option<Cow<'_, str>> {
        let blocked = self.holds.iter().find_map(HeldTaskView::blocked_words).filter(|_| self.release.is_none());
        match (blocked, &self.doing, &self.session.task_id) {
            (Some(reason), ..) => Some(Cow::Owned(reason)),
            (_, Some(doing), _) => Some(Cow::Borrowed(&doing.text)),
            (_, None, Some(task)) if self.holds.is_empty() => {
                Some(Cow::Owned(format!("launched for {task}, which it has not claimed")))
            }
            _ => None,
        }
    }

    /// How much of its context is left, such as `context 38% left`; `None` when its agent does not tell.
    pub fn context_left(&self) -> Option<String> {
        self.session.context_usage.map(|used| format!("context {:.0}% left", (1.0 - used) * 100.0))
    }

    /// The state to show for a session: that it was stopped on purpose, else that it is dead, failed, ended, stale or
    /// orphaned, else its activity, else its status.
    pub fn shown_state(&self) -> ShownState<'_> {
        let seen = Some(self.seen_at.as_str());
        // What was done on purpose is no alarm.
        if let Some(word) = &self.shown_stop {
            let since = self.session.ended_at.as_deref().or(self.activity_at.as_deref());
            return ShownState { shape: '○', word, since, source: "end" };
        }
        if let Some(word) = &self.parking {
            return ShownState { shape: '○', word, since: self.activity_at.as_deref(), source: "session" };
        }
        match (self.shown_status, self.shown_activity) {
            (word @ ("dead" | "failed" | "ended"), _) => match (&self.session.ended_at, &self.noticed_at) {
                (Some(at), _) => ShownState { shape: '✗', word, since: Some(at), source: "end" },
                (None, Some(at)) => ShownState { shape: '✗', word, since: Some(at), source: "process" },
                // When it died is unknown: no age of the death is told.
                (None, None) => {
                    ShownState { shape: '✗', word: "dead, last seen", since: seen, source: self.seen_by.as_str() }
                }
            },
            (word @ ("stale" | "orphaned"), _) => {
                ShownState { shape: '✗', word, since: seen, source: self.seen_by.as_str() }
            }
            (word, None | Some("unknown")) => {
                ShownState { shape: '·', word, since: seen, source: self.seen_by.as_str() }
            }
            (_, Some(activity)) => {
                let (shape, word) = match activity {
                    "requires_action" => ('?', "waits"),
                    STOPPED => ('?', activity),
                    "idle" => ('○', activity),
                    _ => ('●', activity),
                };
                let source = self.activity_source.as_deref().unwrap_or("session");
                ShownState { shape, word, since: self.activity_at.as_deref(), source }
            }
        }
    }
}

/// `session show`: a session in a list, and the way to its terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionDetailView {
    /// The session as in a list.
    #[serde(flatten)]
    pub overview: SessionOverviewView,
    /// The multiplexer's own command to attach to it, as shell text; `null` for a dead session.
    pub attach_command: Option<String>,
    /// The agent of a structured session; `null` for any other one.
    pub protocol: Option<ProtocolView>,
}

/// What the agent of a structured session says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProtocolView {
    /// Its name and version, and the version of the protocol.
    pub agent: String,
    /// Its mode.
    pub mode: Option<String>,
    /// Whether it asks before it runs a tool: it is in the mode in which it does, and a canary has proven that.
    pub guarded: bool,
    /// Why it does not, or why that is not proven.
    pub unguarded_reason: Option<String>,
    /// When it was proven, as far as this host knows.
    pub proven_at: Option<String>,
}

/// Whether a session is alive, with the source of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AliveView {
    /// `null` when this host cannot tell.
    pub alive: Option<bool>,
    /// `process`, `program` (its supervisor is gone), `end` or `none`.
    #[cfg_attr(feature = "schemas", schemars(with = "AliveSource"))]
    pub alive_source: &'static str,
    /// The observation.
    pub alive_reason: String,
}

/// The parking of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ParkedView {
    /// When it ends; null when no time ends it.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub until: Option<String>,
    /// Whether a usage limit, a budget or a person is the cause.
    pub kind: Option<ParkingKind>,
    /// The cause as a text.
    pub why: Option<String>,
}

/// The end of a session's turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TurnEndView {
    /// The meaning: `asks`, `waits` (for something of its own), `stopped` (gates are unmet) or `finished` (its task can be submitted).
    pub meaning: &'static str,
    /// The task that it has claimed.
    pub task_id: String,
    /// What it waits for; null otherwise.
    pub waits_for: Option<String>,
    /// The unmet gates that the claimant clears; empty unless it has stopped.
    pub blockers: Vec<Blocker>,
    /// The end of its last message; null when its agent reports none.
    pub said: Option<String>,
    /// When the turn ended, or the later start of the claim.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    pub since: String,
}

impl From<&EndedTurn> for TurnEndView {
    fn from(ended: &EndedTurn) -> Self {
        let (waits_for, blockers) = match &ended.meaning {
            TurnEnd::Waits(what) => (Some(what.clone()), Vec::new()),
            TurnEnd::Stopped(blockers) => (None, blockers.clone()),
            TurnEnd::Asks | TurnEnd::AsksInWords | TurnEnd::Finished => (None, Vec::new()),
        };
        Self {
            meaning: ended.meaning.as_str(),
            task_id: ended.task.to_string(),
            waits_for,
            blockers,
            said: ended.said.clone(),
            since: ended.since.to_string(),
        }
    }
}

/// A claimed task of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HeldTaskView {
    /// Its id.
    pub task_id: String,
    /// Its title.
    pub title: String,
    /// Its status.
    pub status: TaskStatus,
    /// Its lane.
    pub lane: Option<String>,
    /// The claimant.
    pub claimant: String,
    /// The claimant's session; null for a person.
    pub session_id: Option<String>,
    /// The claim's epoch.
    pub epoch: i64,
    /// The start of the claim.
    pub claimed_at: String,
    /// The end of the lease; null without a lease.
    pub lease_until: Option<String>,
    /// The reason, of a blocked task.
    pub blocked_reason: Option<String>,
}

/// A task's status as a person reads it, such as `in review`.
pub fn status_words(status: &str) -> String {
    if status == "review" { "in review".to_owned() } else { status.replace('_', " ") }
}

impl HeldTaskView {
    /// The task as a person names it.
    pub fn name(&self) -> String {
        format!("{} {}", self.task_id, self.title)
    }

    /// The reason why it is blocked.
    pub fn blocked_words(&self) -> Option<String> {
        self.blocked_reason.as_ref().map(|reason| format!("blocked: {reason}"))
    }

    /// The symbol of a claim without a session: `!` when the task is blocked, `?` when it is in review, else `●`.
    pub fn shape(&self) -> char {
        match self.status {
            TaskStatus::Blocked => '!',
            TaskStatus::Review => '?',
            _ => '●',
        }
    }
}

/// The activity of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DoingView {
    /// The summary of its newest written checkpoint, or what it waits for.
    pub text: String,
    /// `checkpoint` and its number, or `activity`.
    pub source: String,
    /// The time of the report.
    pub at: Option<String>,
}

/// The session of a task's claimant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ClaimantView {
    /// Its id.
    pub session_id: String,
    /// Its status.
    pub status: SessionStatus,
    /// Whether it is alive.
    #[serde(flatten)]
    pub alive: AliveView,
    /// When it was last seen.
    pub seen_at: String,
    /// By what: `heartbeat`, `output` or `start`.
    pub seen_by: SeenBy,
    /// The ways on, when it is dead or stale.
    pub commands: Vec<CommandView>,
}

/// A command and what it is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CommandView {
    /// The purpose: `release it`.
    pub purpose: String,
    /// The whole command.
    pub command: String,
}

impl From<&Aliveness> for AliveView {
    fn from(alive: &Aliveness) -> Self {
        Self { alive: alive.alive, alive_source: alive.source.as_str(), alive_reason: alive.reason.clone() }
    }
}

impl From<&HeldTask> for HeldTaskView {
    fn from(held: &HeldTask) -> Self {
        Self {
            task_id: held.task.to_string(),
            title: held.title.clone(),
            status: held.status,
            lane: held.lane.as_ref().map(ToString::to_string),
            claimant: held.claimant.clone(),
            session_id: held.session.as_ref().map(ToString::to_string),
            epoch: held.epoch,
            claimed_at: held.claimed_at.to_string(),
            lease_until: time(held.lease_until),
            blocked_reason: held.blocked_reason.clone(),
        }
    }
}

impl From<&Doing> for DoingView {
    fn from(doing: &Doing) -> Self {
        Self { text: doing.text.clone(), source: doing.source.clone(), at: time(doing.at) }
    }
}

impl From<&NextCommand> for CommandView {
    fn from(next: &NextCommand) -> Self {
        Self { purpose: next.purpose.clone(), command: next.command.clone() }
    }
}

/// The name of a session's host, when that is not the local one.
fn other_host(session: &Session) -> Option<String> {
    let is_here = host::identity().owns(&session.host, session.host_id.as_deref());
    (!is_here).then(|| OtherHost::new(&session.host, &host::name(), None).name)
}

/// The command that releases the claims of a session that was stopped on purpose; `None` when nothing is to be released.
fn release(overview: &SessionOverview) -> Option<String> {
    overview.stopped_by()?;
    let is_open = |held: &&HeldTask| held.status != TaskStatus::Review;
    let tasks: Vec<&str> = overview.holds.iter().filter(is_open).map(|held| held.task.as_str()).collect();
    (!tasks.is_empty()).then(|| format!("fairway release {} --force --reason TEXT", tasks.join(" ")))
}

impl From<&SessionOverview> for SessionOverviewView {
    fn from(overview: &SessionOverview) -> Self {
        let ended = overview.ended_turn();
        let has_stopped = ended.is_some_and(|ended| ended.meaning.is_stop());
        let waits_for = ended.and_then(|ended| match &ended.meaning {
            TurnEnd::Waits(what) => Some(DoingView {
                text: format!("waits for {what}"),
                source: "activity".to_owned(),
                at: time(Some(ended.since)),
            }),
            _ => None,
        });
        let parking = overview.parking.as_ref().map(|text| DoingView {
            text: text.clone(),
            source: "activity".to_owned(),
            at: time(overview.session.activity_at),
        });
        Self {
            session: SessionView::from(&overview.session),
            alive: AliveView::from(&overview.alive),
            holds: overview.holds.iter().map(HeldTaskView::from).collect(),
            doing: parking.or(waits_for).or_else(|| overview.doing.as_ref().map(DoingView::from)),
            seen_at: overview.seen.at.to_string(),
            seen_by: overview.seen.by,
            activity_source: overview.session.activity_source.clone(),
            activity_at: time(overview.session.activity_at),
            turn_end: ended.map(TurnEndView::from),
            parked: overview
                .parking
                .as_ref()
                .and(overview.session.parked_until)
                .map(|until| Some(until).filter(|until| *until != NO_END))
                .map(|until| ParkedView {
                    until: until.map(|until| until.to_string()),
                    kind: overview.session.parked_why.as_ref().map(ParkingCause::kind),
                    why: overview.session.parked_why.as_ref().map(ToString::to_string),
                }),
            silence: overview.silence.clone(),
            unguarded: overview.unguarded.clone(),
            other_host: other_host(&overview.session),
            stopped_by: overview.stopped_by().map(str::to_owned),
            release: release(overview),
            shown_stop: overview.stopped_by().map(|by| {
                let by = if overview.is_stopped_by_reader { "you" } else { by };
                format!("stopped by {by}")
            }),
            parking: overview.parking.clone(),
            can_relaunch: overview.can_relaunch,
            noticed_at: time(overview.noticed_at),
            shown_status: overview.shown_status(),
            shown_activity: overview
                .current_activity()
                .map(|activity| if has_stopped { STOPPED } else { activity.as_str() }),
        }
    }
}

impl ClaimantView {
    /// The view of a claimant's session. `ways_on` are the commands that help when the session is in trouble.
    pub fn new(session: &Session, alive: &Aliveness, seen: Seen, ways_on: &[NextCommand]) -> Self {
        Self {
            session_id: session.id.to_string(),
            status: session.status,
            alive: AliveView::from(alive),
            seen_at: seen.at.to_string(),
            seen_by: seen.by,
            commands: ways_on.iter().map(CommandView::from).collect(),
        }
    }

    /// The mark beside the claimant's name: `dead`, `ended`, `failed`, `orphaned` or `stale`. `None` for a claimant without
    /// trouble.
    pub fn mark(&self) -> Option<&'static str> {
        match (self.status, self.alive.alive) {
            (SessionStatus::Ended, _) => Some("ended"),
            // Its end is recorded, and its process is still there.
            (SessionStatus::Failed, Some(true)) => Some("failed"),
            (_, Some(false)) => Some("dead"),
            _ if self.alive.alive_source == AliveSource::Program.as_str() => Some("orphaned"),
            (SessionStatus::Stale, _) => Some("stale"),
            _ => None,
        }
    }

    /// A text that follows the claimant's name, such as `is dead: process 7 is gone`. `None` for a claimant without trouble.
    pub fn trouble(&self) -> Option<String> {
        let mark = self.mark()?;
        let verb = if matches!(mark, "ended" | "failed") { "has" } else { "is" };
        Some(format!("{verb} {mark}: {}", self.alive.alive_reason))
    }
}
