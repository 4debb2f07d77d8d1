//! Every way in which a rule says no. The sentence is here; the exit code and the next step are in `actions::failure`.

use thiserror::Error;

use super::{
    LaneName, Role, SessionId, TaskId,
    job::JobStatus,
    message::{Channel, MessageStatus},
    rules::gate::GateReport,
    session::SessionStatus,
    task::{NotReadyReason, TaskStatus},
};
use crate::env::Timestamp;

/// A ready task that a bare `claim` passed over, and the code of the rule that barred it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTask {
    /// The task.
    pub task: TaskId,
    /// The rule's code.
    pub code: &'static str,
}

/// A rule's no.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each sentence names its fields")]
pub enum Refusal {
    /// A value that cannot be meant.
    #[error("{what} {why}")]
    Invalid { what: &'static str, why: String },
    /// A line of a file that cannot be meant.
    #[error("line {line}: {why}")]
    Line { line: usize, why: String },
    /// Words that do not go together.
    #[error("{why}")]
    Usage { why: String },
    /// No such thing.
    #[error("there is no {noun} '{id}'")]
    NotFound { noun: &'static str, id: String, near: Vec<String> },
    /// No such things.
    #[error("there are no such {noun}s: {}", .ids.join(", "))]
    NoneFound { noun: &'static str, ids: Vec<String> },
    /// Several such things.
    #[error("{noun} '{id}' could be any of {}", .found.join(", "))]
    Ambiguous { noun: &'static str, id: String, found: Vec<String> },
    /// A thing of that name is there already.
    #[error("{noun} '{id}' exists already")]
    AlreadyExists { noun: &'static str, id: String },
    /// A thing that others point at.
    #[error("{noun} '{id}' is in use: {by}")]
    InUse { noun: &'static str, id: String, by: String },
    /// A lane whose worktree holds what exists nowhere else.
    #[error("the lane {lane} is kept: {why}")]
    UnsavedWork { lane: LaneName, why: String },
    /// Held by somebody else.
    #[error("{task} is held by {by} since {since}")]
    AlreadyClaimed { task: TaskId, by: String, since: Timestamp },
    /// Held by the very caller.
    #[error("{task} is yours already, under epoch {epoch}")]
    AlreadyClaimedByYou { task: TaskId, epoch: i64 },
    /// The caller's claim has been superseded.
    #[error("your claim on {task} has epoch {yours}, but {} since epoch {current}", match .by {
        Some(by) => format!("{by} holds it"),
        None => "it has changed hands".to_owned(),
    })]
    StaleClaim { task: TaskId, yours: i64, current: i64, by: Option<String> },
    /// A handoff that was made under an older claim.
    #[error("handoff {id} was made under epoch {made} of {task}, but {} since epoch {current}", match .by {
        Some(by) => format!("{by} holds it"),
        None => "it has changed hands".to_owned(),
    })]
    StaleHandoff { id: i64, task: TaskId, made: i64, current: i64, by: Option<String> },
    /// Somebody else's to finish, block or release.
    #[error("{task} is held by {by}, not by {you}")]
    NotClaimant { task: TaskId, by: String, you: String },
    /// A transition that does not exist.
    #[error("{task} is {status}; it cannot be {verb} from there")]
    WrongState { task: TaskId, status: TaskStatus, verb: &'static str },
    /// Unfinished dependencies.
    #[error("{task} waits: {}", .waiting.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("; "))]
    DepsOpen { task: TaskId, waiting: Vec<NotReadyReason> },
    /// For another role.
    #[error("{task} is for the role {wants}; {}", match .have {
        Some(have) => format!("you act as {have}"),
        None => "you named none".to_owned(),
    })]
    RoleMismatch { task: TaskId, wants: Role, have: Option<Role> },
    /// For another lane.
    #[error("{task} belongs to the lane {wants}; you work in {have}")]
    LaneMismatch { task: TaskId, wants: LaneName, have: LaneName },
    /// The lane takes no claims now.
    #[error("the lane {lane} is paused")]
    LanePaused { lane: LaneName },
    /// The lane takes no claims any more.
    #[error("the lane {lane} is closed")]
    LaneClosed { lane: LaneName },
    /// The lane's limit is reached.
    #[error("the lane {lane} holds {held} of {limit} tasks")]
    LaneFull { lane: LaneName, held: i64, limit: i64 },
    /// Somebody else works on the same files.
    #[error("{task} touches '{path}', and {other}, held by {by}, touches '{other_path}'")]
    PathConflict { task: TaskId, path: String, other: TaskId, other_path: String, by: String },
    /// The session cannot act any more.
    #[error("the session {session} is {status}; that is final")]
    SessionFinal { session: SessionId, status: SessionStatus },
    /// The session's program is not there any more, though nothing says yet that it has ended.
    #[error("the session {session} is recorded as {status}, but its backend says that it does not run")]
    SessionExited { session: SessionId, status: SessionStatus },
    /// A session of another task, run or role.
    #[error("{why}")]
    SessionMismatch { why: String },
    /// A record that was answered already.
    #[error("{noun} {id} is {status} already")]
    AlreadyAnswered { noun: &'static str, id: i64, status: &'static str },
    /// An approval that its provider does not wait for any more.
    #[error("approval {id} has lapsed{}", .why.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    ApprovalLapsed { id: i64, why: Option<String> },
    /// An approval whose provider asks the person itself.
    #[error("no answer from here reaches {provider} for approval {id}: it asks in its own window")]
    NotAnswerable { id: i64, session: SessionId, provider: String },
    /// An approval that the session that asks would give itself.
    #[error("approval {id} is asked by {session} itself; somebody else answers it")]
    SelfApproval { id: i64, session: SessionId },
    /// A provider's settings that cannot be meant.
    #[error("{path} {why}; it was left as it is")]
    InvalidSettings { path: String, why: String },
    /// A handoff to another role or lane.
    #[error("handoff {id} is for the {} {wants}; you {} {have}", if *.is_role { "role" } else { "lane" },
        if *.is_role { "act as" } else { "work in" })]
    NotForYou { id: i64, wants: String, have: String, is_role: bool },
    /// Somebody else's to take back.
    #[error("{noun} {id} was made by {by}, not by {you}")]
    NotCreator { noun: &'static str, id: i64, by: String, you: String },
    /// Gates that are not passed.
    #[error("{} is not ready: {}", .0.task, .0.blockers.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("; "))]
    GateBlocked(GateReport),
    /// A dependency or parent that leads back to itself.
    #[error("that would close a circle: {}", .path.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" → "))]
    Cycle { path: Vec<TaskId> },
    /// Nothing to claim.
    #[error("{}", if .skipped.is_empty() { "nothing is ready".to_owned() } else {
        format!("nothing is ready for you; {} ready task(s) are barred by rules", .skipped.len())
    })]
    NothingReady { skipped: Vec<SkippedTask> },
    /// Nothing came in time.
    #[error("nothing arrived within {within}")]
    WaitTimedOut { within: String },
    /// A prompt that nobody has acknowledged.
    #[error("prompt {id} is not acknowledged: {}", match (.status, .way) {
        (MessageStatus::Expired | MessageStatus::Withdrawn, _) => format!("it is {}", .status),
        (_, Some(way)) => format!("after {within} it is {} by way of {way}", .status),
        (_, None) => format!("after {within} it is {}", .status),
    })]
    NotAcknowledged { id: i64, status: MessageStatus, way: Option<Channel>, within: String },
    /// A `--request-id` that was used for something else.
    #[error("the request id '{id}' was used for another command")]
    RequestReused { id: String },
    /// An `--event-id` that was used for something else.
    #[error("the event id '{id}' was used for another event of this session")]
    EventReused { id: String },
    /// A `--request-id` whose command was begun and has no answer yet.
    #[error("the request '{id}' was begun and has no answer: {became}; nothing was started again")]
    RequestPending { id: String, became: String, running: bool },
    /// A background run that is over.
    #[error("the run {run} has ended ({status})")]
    JobFinal { run: String, status: JobStatus },
    /// A background run that waits for its turn.
    #[error("the run {run} waits in its queue: it reads nothing yet")]
    JobQueued { run: String },
    /// A background run that nothing can be typed to.
    #[error("the run {run} has no terminal to type into: it was started without --pty")]
    NoTerminal { run: String },
    /// A background run whose program does not read what is typed.
    #[error(
        "the input of run {run} is full, its program does not read it: of what was to be typed it took {taken} bytes"
    )]
    InputFull { run: String, taken: usize },
    /// A background run whose supervisor died.
    #[error("nobody looks after the run {run}: its supervisor is gone")]
    JobUnsupervised { run: String },
    /// A background run whose supervisor lives, and says nothing.
    #[error("the supervisor of the run {run} does not answer")]
    JobUnresponsive { run: String },
    /// Another server serves here.
    #[error("a server listens at {place} already")]
    ServeRunning { place: String },
    /// A tool call that must not be made.
    #[error("{}{reason}", rule.as_ref().map(|rule| format!("{rule}: ")).unwrap_or_default())]
    GuardDenied { reason: String, rule: Option<String> },
    /// A program that this would run has not been trusted here.
    #[error("{why}")]
    Untrusted { why: String },
    /// A store or local file that came with the repository.
    #[error("{path} is tracked by git: whoever committed it would speak for you")]
    TrackedByGit { path: String },
}

impl Refusal {
    /// The stable code, as in the documentation.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "invalid_value",
            Self::Line { .. } => "invalid_line",
            Self::Usage { .. } => "usage",
            Self::NotFound { .. } | Self::NoneFound { .. } => "not_found",
            Self::Ambiguous { .. } => "ambiguous",
            Self::AlreadyExists { .. } => "exists",
            Self::InUse { .. } => "in_use",
            Self::UnsavedWork { .. } => "unsaved_work",
            Self::AlreadyClaimed { .. } => "already_claimed",
            Self::AlreadyClaimedByYou { .. } => "already_yours",
            Self::StaleClaim { .. } | Self::StaleHandoff { .. } => "stale_claim",
            Self::NotClaimant { .. } => "not_claimant",
            Self::WrongState { .. } => "wrong_state",
            Self::DepsOpen { .. } => "deps_open",
            Self::RoleMismatch { .. } => "role_mismatch",
            Self::LaneMismatch { .. } => "lane_mismatch",
            Self::LanePaused { .. } => "lane_paused",
            Self::LaneClosed { .. } => "lane_closed",
            Self::LaneFull { .. } => "lane_full",
            Self::PathConflict { .. } => "path_conflict",
            Self::SessionFinal { .. } => "session_final",
            Self::SessionExited { .. } => "session_gone",
            Self::SessionMismatch { .. } => "session_mismatch",
            Self::AlreadyAnswered { .. } => "already_answered",
            Self::ApprovalLapsed { .. } => "approval_lapsed",
            Self::NotAnswerable { .. } => "not_answerable",
            Self::SelfApproval { .. } => "own_approval",
            Self::InvalidSettings { .. } => "settings_invalid",
            Self::NotForYou { is_role: true, .. } => "role_mismatch",
            Self::NotForYou { is_role: false, .. } => "lane_mismatch",
            Self::NotCreator { .. } => "not_creator",
            Self::GateBlocked(_) => "gate_blocked",
            Self::Cycle { .. } => "cycle",
            Self::NothingReady { .. } => "nothing_ready",
            Self::WaitTimedOut { .. } => "nothing_arrived",
            Self::NotAcknowledged { .. } => "not_acknowledged",
            Self::RequestReused { .. } | Self::EventReused { .. } => "request_reused",
            Self::RequestPending { .. } => "request_open",
            Self::JobFinal { .. } => "run_final",
            Self::JobQueued { .. } => "run_queued",
            Self::NoTerminal { .. } => "no_terminal",
            Self::InputFull { .. } => "input_full",
            Self::JobUnsupervised { .. } => "run_unsupervised",
            Self::JobUnresponsive { .. } => "run_busy",
            Self::ServeRunning { .. } => "serve_running",
            Self::GuardDenied { .. } => "guard_denied",
            Self::Untrusted { .. } | Self::TrackedByGit { .. } => "untrusted",
        }
    }

    /// `NotFound`, with near ids to suggest.
    #[must_use]
    pub fn not_found(noun: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound { noun, id: id.into(), near: Vec::new() }
    }

    /// `Invalid`.
    #[must_use]
    pub fn invalid(what: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { what, why: why.into() }
    }
}
