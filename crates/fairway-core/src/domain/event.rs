//! The kinds of events. The event log is append-only, and no state changes without an event.

use super::string_enum::string_enum;
use super::{LaneName, RunId, SessionId, TaskId};

string_enum! {
    /// The kinds of events, `noun.verb`.
    EventKind {
        TaskAdded => "task.added",
        TaskImported => "task.imported",
        TaskEdited => "task.edited",
        TaskIssueChanged => "task.issue_changed",
        TaskClaimed => "task.claimed",
        TaskRenewed => "task.renewed",
        TaskReleased => "task.released",
        TaskBlocked => "task.blocked",
        TaskUnblocked => "task.unblocked",
        TaskSubmitted => "task.submitted",
        TaskResumed => "task.resumed",
        TaskDone => "task.done",
        TaskLanded => "task.landed",
        TaskSentBack => "task.sent_back",
        TaskCancelled => "task.cancelled",
        TaskReopened => "task.reopened",
        TaskRemoved => "task.removed",
        TaskDepAdded => "task.dep_added",
        TaskDepRemoved => "task.dep_removed",
        LaneAdded => "lane.added",
        LaneEdited => "lane.edited",
        LanePaused => "lane.paused",
        LaneOpened => "lane.opened",
        LaneClosed => "lane.closed",
        LaneRemoved => "lane.removed",
        LaneSynced => "lane.synced",
        LaneSettingUp => "lane.setting_up",
        LaneSetUp => "lane.set_up",
        LaneTornDown => "lane.torn_down",
        LaneWorktreeRemoved => "lane.worktree_removed",
        LaneWorktreeRepaired => "lane.worktree_repaired",
        SessionStarting => "session.starting",
        SessionUpserted => "session.upserted",
        SessionRunning => "session.running",
        SessionRevived => "session.revived",
        SessionActivity => "session.activity",
        SessionNudged => "session.nudged",
        SessionInterrupted => "session.interrupted",
        SessionTurnEnded => "session.turn_ended",
        SessionReminded => "session.reminded",
        SessionParked => "session.parked",
        SessionUnparked => "session.unparked",
        SessionStale => "session.stale",
        SessionEnded => "session.ended",
        SessionFailed => "session.failed",
        CheckpointRecorded => "checkpoint.recorded",
        EvidenceStarted => "evidence.started",
        EvidenceRecorded => "evidence.recorded",
        HandoffCreated => "handoff.created",
        HandoffAccepted => "handoff.accepted",
        HandoffDeclined => "handoff.declined",
        HandoffWithdrawn => "handoff.withdrawn",
        ReviewRequested => "review.requested",
        ReviewRecorded => "review.recorded",
        ReviewWithdrawn => "review.withdrawn",
        ReviewCommented => "review.commented",
        ReviewResolved => "review.resolved",
        MessageQueued => "message.queued",
        MessageOffered => "message.offered",
        MessageAcknowledged => "message.acknowledged",
        MessageAnswered => "message.answered",
        MessageExpired => "message.expired",
        MessageWithdrawn => "message.withdrawn",
        ApprovalAsked => "approval.asked",
        ApprovalAnswered => "approval.answered",
        ApprovalLapsed => "approval.lapsed",
        GuardDenied => "guard.denied",
        GuardBypassed => "guard.bypassed",
        UsageReported => "usage.reported",
        BudgetRaised => "budget.raised",
        CredentialExpiring => "credential.expiring",
        ExecQueued => "exec.queued",
        ExecStarted => "exec.started",
        ExecFinished => "exec.finished",
        ExecRecovered => "exec.recovered",
        ExecRemoved => "exec.removed",
        LandingProposed => "landing.proposed",
        PullRequestChanged => "pull_request.changed",
        LandingStopped => "landing.stopped",
        LandingPaused => "landing.paused",
        LandingResumed => "landing.resumed",
        OverlapFound => "overlap.found",
        OverlapCleared => "overlap.cleared",
        SandboxHostRefused => "sandbox.host_refused",
        ConfigTrusted => "config.trusted",
        HostRetired => "host.retired",
        StoreRestored => "store.restored",
        StoreRepaired => "store.repaired",
    }
}

impl EventKind {
    /// Whether an event of this kind reports a session's new status.
    pub const fn is_status(self) -> bool {
        matches!(
            self,
            Self::SessionStarting
                | Self::SessionRunning
                | Self::SessionRevived
                | Self::SessionStale
                | Self::SessionEnded
                | Self::SessionFailed
        )
    }

    /// Whether an event of this kind moves a task from one state to another.
    pub const fn is_transition(self) -> bool {
        matches!(
            self,
            Self::TaskClaimed
                | Self::TaskReleased
                | Self::TaskBlocked
                | Self::TaskUnblocked
                | Self::TaskSubmitted
                | Self::TaskResumed
                | Self::TaskDone
                | Self::TaskLanded
                | Self::TaskCancelled
                | Self::TaskReopened
        )
    }
}

/// The kinds that a filter accepts: one kind, or with `*` in place of any text, such as `task.*`, all that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventKindPattern(String);

impl EventKindPattern {
    /// Parses a pattern of event kinds, in which one `*` stands for any text. Returns `None` when no kind of event matches, or
    /// when the pattern has more than one `*`.
    pub fn parse(text: &str) -> Option<Self> {
        let pattern = Self(text.to_owned());
        let fits_any = EventKind::ALL.iter().any(|kind| pattern.matches(kind.as_str()));
        (fits_any && text.matches('*').count() <= 1).then_some(pattern)
    }

    pub fn matches(&self, kind: &str) -> bool {
        match self.0.split_once('*') {
            Some((start, end)) => {
                kind.len() >= start.len() + end.len() && kind.starts_with(start) && kind.ends_with(end)
            }
            None => kind == self.0,
        }
    }
}

/// A value in an event's data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventValue {
    Null,
    Number(i64),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
}

impl From<i64> for EventValue {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for EventValue {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<&str> for EventValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for EventValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for EventValue {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

impl<T: Into<Self>> From<Option<T>> for EventValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One event; the store adds its number, time and actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    pub task: Option<TaskId>,
    /// The session that the event is about; without one, the store adds the acting session.
    pub session: Option<SessionId>,
    pub run_id: Option<RunId>,
    pub lane: Option<LaneName>,
    /// The details, in the order in which they were added.
    pub data: Vec<(&'static str, EventValue)>,
}

impl Event {
    /// An event without a task, session, lane or data.
    pub const fn new(kind: EventKind) -> Self {
        Self { kind, task: None, session: None, run_id: None, lane: None, data: Vec::new() }
    }

    #[must_use]
    pub fn task(mut self, id: &TaskId) -> Self {
        self.task = Some(id.clone());
        self
    }

    #[must_use]
    pub fn session(mut self, id: &SessionId, run_id: &RunId) -> Self {
        self.session = Some(id.clone());
        self.run_id = Some(run_id.clone());
        self
    }

    #[must_use]
    pub fn lane(mut self, name: Option<&LaneName>) -> Self {
        self.lane = name.cloned();
        self
    }

    /// Adds a value to the event's data. The values keep the order in which they are added.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<EventValue>) -> Self {
        self.data.push((key, value.into()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_pattern_accepts_kinds_and_one_star() {
        let fits = |pattern: &str, kind| EventKindPattern::parse(pattern).is_some_and(|read| read.matches(kind));
        assert!(fits("task.claimed", "task.claimed") && !fits("task.claimed", "task.released"));
        assert!(fits("task.*", "task.claimed") && !fits("task.*", "lane.closed"));
        assert!(fits("*.recorded", "review.recorded") && fits("*", "store.restored"));
        for wrong in ["", "task", "tasks.*", "task.claimed*x", "*.*"] {
            assert_eq!(EventKindPattern::parse(wrong), None, "{wrong}");
        }
    }
}
