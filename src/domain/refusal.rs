//! Every refusal by a rule, with its message and code. Exit codes and hints are in `actions::core::errors`.

use thiserror::Error;

use super::{
    LaneName, Role, SessionId, TaskId,
    blocker::GateReport,
    commit_id,
    excerpt::excerpt,
    invalid_value::InvalidValue,
    landing_failure::{FailedLandCheck, StopCause, StoppedLanding, landed_with},
    not_ready::NotReadyReason,
    plural,
    prompt_wait::PromptWait,
    review::{OpenReview, summary},
    sandbox::SandboxClass,
    status::{Channel, JobStatus, MessageStatus, SessionStatus, TaskStatus},
};
use crate::env::Timestamp;

/// A ready task that `claim` without an id skipped, and the code of the rule that excluded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTask {
    pub task: TaskId,
    /// The rule's code.
    pub code: &'static str,
}

/// A command refused by a rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// An invalid value.
    #[error("{what} {why}")]
    Invalid { what: &'static str, why: String },
    /// An invalid line of a file.
    #[error("line {line}: {why}")]
    Line { line: usize, why: String },
    /// An issue of a file without keys that an import needs.
    #[error("line {line}: {} has no {}", match .number {
        Some(number) => format!("issue {number}"),
        None => "the issue".to_owned(),
    }, .keys.join(", "))]
    IssueKeysMissing { line: usize, number: Option<u64>, keys: Vec<&'static str> },
    /// Arguments or fields that exclude each other or are missing.
    #[error("{why}")]
    Usage { why: String },
    /// Arguments of which one is missing, with the command that has it.
    #[error("{why}")]
    ArgumentMissing { why: String, hint: String },
    /// A file of the command line that cannot be opened.
    #[error("{what} cannot be read from {file}: {why}")]
    FileUnreadable { what: &'static str, file: String, why: String, dir: String },
    /// A sandbox cannot be made here.
    #[error("no sandbox can be made here: {why}")]
    SandboxUnavailable { why: String, hint: String },
    /// A launch asks for less than what the lane demands.
    #[error("the lane {lane} demands the sandbox '{least}', not '{asked}'")]
    SandboxRequired { lane: LaneName, least: SandboxClass, asked: SandboxClass },
    /// Another sandbox works on the lane.
    #[error("lane '{lane}' is in use: a sandbox works on it")]
    SandboxRunning { lane: LaneName },
    /// A sandbox was asked for outside of every lane.
    #[error("a sandbox is for a lane, and {} is in none", .directory)]
    SandboxWithoutLane { directory: String },
    /// The worktree of the lane has something that a sandbox cannot take over.
    #[error("the lane {lane} cannot be worked on in a sandbox: {why}")]
    SandboxLaneUnfit { lane: LaneName, why: String },
    /// The backend script of a session does not know an operation; `hint` is another way.
    #[error("{script} does not know {operation}")]
    BackendCannot { script: String, operation: &'static str, hint: String },
    /// The object does not exist; `near` has ids of similar spelling.
    #[error("there is no {} '{id}'", spoken(noun))]
    NotFound { noun: &'static str, id: String, near: Vec<String> },
    /// The task was removed.
    #[error("there is no task '{task}': it was removed")]
    TaskRemoved { task: TaskId, at: Timestamp },
    /// A task's id that a removed task had.
    #[error("the id '{task}' was the id of a task that was removed; an id is not given out again")]
    IdUsed { task: TaskId },
    /// The task cannot be removed: records or other tasks refer to it.
    #[error("{task} cannot be removed: {by}")]
    TaskInUse { task: TaskId, by: String, is_open: bool },
    /// Arguments of `task add` that are a title without quotes, or an id without a title.
    #[error("{}", match .words.as_slice() {
        [word] => format!("'{}' looks like a task id, and a title is missing", excerpt(word)),
        [word, ..] if .id.is_none() && !TaskId::is_distinct(word) => {
            format!("'{}' is not a task id, and a title is one argument", excerpt(word))
        }
        _ => "a title is one argument".to_owned(),
    })]
    TitleExpected { id: Option<TaskId>, words: Vec<String> },
    /// No backend has the name or a similar one; `known` has the names that exist.
    #[error("there is no backend '{name}'")]
    UnknownBackend { name: String, known: Vec<String> },
    /// The script of a backend is missing, or is no program; `script` is its path, or the name that was looked for in PATH.
    #[error("the script {script} of the backend '{backend}' {reason}")]
    NoBackendScript { backend: String, script: String, reason: &'static str },
    /// No session has the run of a lifecycle report, and the report registers none.
    #[error("there is no session with the run '{run}'")]
    RunUnregistered { run: String },
    /// Several objects do not exist.
    #[error("there are no such {noun}s: {}", .ids.join(", "))]
    NoneFound { noun: &'static str, ids: Vec<String> },
    /// An abbreviated id that fits several objects.
    #[error("{} '{id}' is ambiguous: it fits {}", spoken(noun), .found.join(", "))]
    Ambiguous { noun: &'static str, id: String, found: Vec<String> },
    /// The id or name is taken.
    #[error("{noun} '{id}' already exists")]
    AlreadyExists { noun: &'static str, id: String },
    /// The object is referenced by others.
    #[error("{} '{id}' is in use: {by}", spoken(noun))]
    InUse { noun: &'static str, id: String, by: String },
    /// A session, a claim, a job or git itself needs the worktree of the lane.
    #[error("lane '{lane}' is in use: {why}")]
    LaneHeld { lane: LaneName, why: String, hint: String },
    /// The worktree of the lane has work that exists nowhere else.
    #[error("cannot {verb} the lane {lane}: {why}")]
    UnsavedWork { lane: LaneName, verb: &'static str, why: String, dir: Option<String> },
    /// The lane has no worktree.
    #[error("the lane {lane} has no worktree")]
    LaneWithoutWorktree { lane: LaneName },
    /// The lane's worktree is on another host.
    #[error("the worktree of the lane {lane} is on the host {host}, not on this one")]
    LaneElsewhere { lane: LaneName, host: String, command: String },
    /// The directory of the lane's worktree does not exist, or is no worktree any more.
    #[error("the worktree of the lane {lane} is gone: {dir}")]
    WorktreeMissing { lane: LaneName, dir: String },
    /// The worktree of a lane is not one of the project's repository any more.
    #[error("lane {lane} is damaged: {why}")]
    LaneDamaged { lane: LaneName, why: String },
    /// An event is older than the reflog that would tell what the lane's branch was then.
    #[error("event {event} ({}) is before the reflog of {branch}, which {}", .at.to_local(), match .begins {
        Some(begins) => format!("begins at {}", begins.to_local()),
        None => "is empty".to_owned(),
    })]
    BeforeReflog { lane: LaneName, branch: String, event: i64, at: Timestamp, begins: Option<Timestamp> },
    /// Fairway did not make the worktree, so it does not remove it.
    #[error("the worktree of the lane {lane} was not made by Fairway: {dir}")]
    WorktreeNotOwned { lane: LaneName, dir: String },
    /// Another branch than that of the lane, or none, is checked out.
    #[error("the worktree of the lane {lane} has {} checked out{}", match .have {
        Some(have) => format!("the branch {have}"),
        None => "no branch".to_owned(),
    }, match .wants {
        Some(wants) => format!(", not {wants}"),
        None => String::new(),
    })]
    WrongBranch { lane: LaneName, wants: Option<String>, have: Option<String>, dir: String },
    /// A rebase would leave out the merges of the lane's branch.
    #[error("cannot rebase the lane {lane}: its branch has merge commits, which a rebase would leave out")]
    MergeCommits { lane: LaneName },
    /// The base and the lane's branch have changed the same lines.
    #[error("{base} conflicts with the lane {lane} in {}; the lane is unchanged", list_files(.files))]
    SyncConflict { lane: LaneName, base: String, files: Vec<String>, commit: Option<String>, by_hand: String },
    /// Tasks that would land are not ready.
    #[error("{of} cannot land: {}", .reports.iter().map(|report| {
        let blockers: Vec<&str> = report.blockers.iter().map(|blocker| blocker.message.as_str()).collect();
        format!("{}: {}", report.task, blockers.join("; "))
    }).collect::<Vec<_>>().join("; "))]
    NotLandable { of: String, reports: Vec<GateReport> },
    /// Nothing tells which commit has a task's work.
    #[error("{task} is {status} and has no commit")]
    NoTaskCommit { task: TaskId, status: TaskStatus, lane: Option<LaneName> },
    /// A rebase, merge, cherry-pick, revert or bisect is not finished.
    #[error("{of} is in the middle of a {operation} in {dir}")]
    OperationUnfinished { of: String, operation: &'static str, dir: String },
    /// The base lacks commits of its upstream.
    #[error("the base {base} is behind {upstream} by {}{}", plural::count(*.behind, "commit"), match .ahead {
        0 => String::new(),
        ahead => format!(", and has {ahead} of its own"),
    })]
    BaseBehind { base: String, upstream: String, ahead: u64, behind: u64, dir: String },
    /// The base is checked out in several worktrees.
    #[error("the base {base} is checked out in several worktrees: {}", .dirs.join(", "))]
    BaseInSeveral { base: String, dirs: Vec<String> },
    /// The checkout of the base has files that a landing would overwrite.
    #[error("the checkout of the base {base} in {dir} has changes: {}", list_files(.files))]
    CheckoutChanged { base: String, dir: String, files: Vec<String> },
    /// A landing would overwrite files that git does not track.
    #[error("the landing would overwrite files in the checkout of the base {base} in {dir}: {}", list_files(.files))]
    FilesInTheWay { base: String, dir: String, files: Vec<String> },
    /// Another program has locked the base or its checkout.
    #[error("the base {base} is locked by another program: {lock}")]
    BaseLocked { base: String, lock: String },
    /// A lane has no commit that could land.
    #[error("the lane {lane} has no commit{}", match .branch {
        Some(branch) => format!(": its branch {branch} does not exist"),
        None => String::new(),
    })]
    NoLaneCommit { lane: LaneName, branch: Option<String>, known: Option<String> },
    /// The base of a landing does not exist.
    #[error("there is no base branch '{base}'")]
    NoBase { base: String },
    /// The commit to land has no history in common with the base.
    #[error("{of} and {base} have no commit in common")]
    NoCommonCommit { of: String, base: String },
    /// Another command moved the base.
    #[error("the base {base} moved while its next commit was made")]
    BaseMoved { base: String },
    /// A base has no branch of a remote that could be fetched or pushed to.
    #[error("the base {base} has no upstream to fetch or push: {why}")]
    NoUpstream {
        base: String,
        why: String,
        dir: String,
        /// Whether the base must be shared because the store is.
        is_shared: bool,
    },
    /// The work of a lane of another host cannot be brought here.
    #[error("the work of the lane {lane} stays on the host {host}: {why}")]
    WorkElsewhere { lane: LaneName, host: String, why: String },
    /// The upstream of a base cannot be fetched.
    #[error("{upstream} cannot be fetched: {why}")]
    FetchFailed { base: String, upstream: String, why: String },
    /// The remote did not take what was to land, or was not reached; it has none of it.
    #[error("{upstream} did not take what was to land in {base}: {why}")]
    PushFailed { base: String, upstream: String, why: String },
    /// A push was interrupted, and the remote cannot be asked whether it has what was to land.
    #[error("it is unknown whether {upstream} has what was to land in {base}: {why}")]
    PushUnknown { base: String, upstream: String, why: String },
    /// Others were faster, again and again.
    #[error("{upstream} moved {tries} times in a row while what was to land in {base} was checked")]
    PushRaced { base: String, upstream: String, tries: usize },
    /// Git does not know who commits.
    #[error("git does not know who commits: {why}")]
    NoIdentity { why: String },
    /// A lane with merges cannot be rebased.
    #[error("{of} has merge commits, which a rebase would leave out")]
    CannotRebase { of: String },
    /// The work that was to land points to a commit of a submodule that others cannot get.
    #[error("{of} sets {path} to the commit {}, which neither the submodule in the checkout of {base} nor a remote of it has", commit_id::short(.commit))]
    SubmoduleCommitMissing { of: String, base: String, path: String, commit: String, command: String, is_in_lane: bool },
    /// The work that was to land conflicts with the base.
    #[error("{of} conflicts with {base} in {}{}", list_files(.files), landed_with(.with))]
    LandConflict { of: String, base: String, files: Vec<String>, with: Vec<String>, lane: Option<LaneName> },
    /// The work that was to land was sent back, and neither it nor the base has changed since.
    #[error("{of} was sent back at this commit and base, and is not tried again until one of them changes: {why}")]
    SentBackBefore { of: String, why: String, lane: Option<LaneName>, base: String },
    /// The work that was to land fails a check on the merged tree.
    #[error("{0}")]
    LandCheckFailed(Box<FailedLandCheck>),
    /// The commit is not one with which the lane was to land.
    #[error("{commit} is no candidate of a landing of the lane {lane}, or git has removed it")]
    NoCandidate { lane: LaneName, commit: String },
    /// Landing is paused.
    #[error("landing is paused by {by} since {since}{}", .reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    LandPaused { by: String, since: String, reason: Option<String> },
    /// A process that runs the checks of a tree did not come to its end.
    #[error("{why}")]
    ChecksEnded { why: String },
    /// A command of a landing failed, and not because of the work.
    #[error("{0}")]
    LandStopped(Box<StoppedLanding>),
    /// The repository has no commit that a branch could start from.
    #[error("there is no base branch '{base}': the repository has no commit")]
    NoCommit { base: String },
    /// Another claimant has the task.
    #[error("{task} is claimed by {by} since {since}")]
    AlreadyClaimed { task: TaskId, by: String, since: Timestamp },
    /// The caller has the task.
    #[error("{task} is already claimed by you (epoch {epoch})")]
    AlreadyClaimedByYou { task: TaskId, epoch: i64 },
    /// The caller's claim has been superseded.
    #[error("your claim on {task} is stale: its epoch is {yours}, the task is at epoch {current}{}", claimed_by(.by.as_deref()))]
    StaleClaim { task: TaskId, yours: i64, current: i64, by: Option<String> },
    /// A handoff that was created under an older claim.
    #[error("handoff {id} is stale: its epoch is {made}, {task} is at epoch {current}{}", claimed_by(.by.as_deref()))]
    StaleHandoff { id: i64, task: TaskId, made: i64, current: i64, by: Option<String> },
    /// Only the claimant may finish, block or release the task. `can_continue`: its session is over, and the actor may continue
    /// its claim.
    #[error("{task} is claimed by {by}{}, not by you ({you})", if *can_continue { ", which is over" } else { "" })]
    NotClaimant { task: TaskId, by: String, you: String, can_continue: bool },
    /// A transition that does not exist.
    #[error("{task} is {status} and cannot be {verb}")]
    WrongState { task: TaskId, status: TaskStatus, verb: &'static str },
    /// Unfinished dependencies.
    #[error("{task} has {}: {}", if .waiting.iter().all(|reason| reason.fix.is_some()) { "dependencies that are not here" } else { "unfinished dependencies" }, .waiting.iter().map(|reason| reason.message.as_str()).collect::<Vec<_>>().join("; "))]
    DepsOpen { task: TaskId, waiting: Vec<NotReadyReason> },
    /// The task needs another role.
    #[error("{task} is for the role {wants}; {}", match .have {
        Some(have) => format!("you act as {have}"),
        None => "no role is set".to_owned(),
    })]
    RoleMismatch { task: TaskId, wants: Role, have: Option<Role> },
    /// The task belongs to another lane.
    #[error("{task} belongs to the lane {wants}; you work in {have}")]
    LaneMismatch { task: TaskId, wants: LaneName, have: LaneName },
    /// The lane is paused.
    #[error("the lane {lane} is paused")]
    LanePaused { lane: LaneName },
    /// The lane is closed.
    #[error("the lane {lane} is closed")]
    LaneClosed { lane: LaneName },
    /// The lane's WIP limit is reached.
    #[error("the lane {lane} is full: {held} of {limit} tasks are claimed")]
    LaneFull { lane: LaneName, held: i64, limit: i64 },
    /// The open reviews have reached their limit.
    #[error("the limit of {}{} is reached: {}", plural::count(*.limit, "open review"), match .role {
        Some(role) => format!(" of the role {role}"),
        None => String::new(),
    }, summary(.waiting))]
    ReviewFull { role: Option<Role>, limit: u32, waiting: Vec<OpenReview> },
    /// The paths overlap those of another claimant's task.
    #[error("{task} touches '{path}', which overlaps '{other_path}' of {other} (claimed by {by})")]
    PathConflict { task: TaskId, path: String, other: TaskId, other_path: String, by: String },
    /// A launch without a role.
    #[error("no role: --role is missing, and {}", match .lane {
        Some(lane) => format!("the lane {lane} has none"),
        None => "there is no lane that has one".to_owned(),
    })]
    NoLaunchRole { lane: Option<LaneName> },
    /// Nothing says how a provider runs without a terminal.
    #[error("the provider {provider} cannot run structured: [providers.{provider}.acp] has no command")]
    NoStructuredProgram { provider: String },
    /// The session has ended or failed.
    #[error("the session {session} has {status} and cannot be changed")]
    SessionFinal { session: SessionId, status: SessionStatus },
    /// The session, or something of it, is or may be alive.
    #[error("the session {session} is not over: {why}")]
    SessionAlive { session: SessionId, why: String },
    /// A relaunch needs what the launch had of its own: it is not stored.
    #[error("the session {session} was launched with {}", match (.command, .env.is_empty()) {
        (true, true) => "a command of its own, which is not stored".to_owned(),
        (true, false) => format!("a command of its own and {}, which are not stored", .env.join(", ")),
        (false, _) => format!("a value of its own for {}, which is not stored", .env.join(", ")),
    })]
    RelaunchNeeds { session: SessionId, command: bool, env: Vec<String> },
    /// Without a repository there are no worktrees.
    #[error("{consequence}: {root} is not in a git repository")]
    NoRepository { consequence: &'static str, root: String },
    /// No agent's program is installed.
    #[error("no agent program was found: {} are not in PATH", .names.join(", "))]
    NoAgentProgram { names: Vec<String> },
    /// Several agents' programs are installed, and none is chosen.
    #[error("several agent programs are installed: {}", .names.join(", "))]
    SeveralAgentPrograms { names: Vec<String> },
    /// The backend does not run the session, although its record is open.
    #[error("the session {session} is recorded as {status}, but its backend reports that it is not running")]
    SessionExited { session: SessionId, status: SessionStatus },
    /// The session waits for a person's answer, and typed text would be that answer.
    #[error("the session {session} asks: {}", excerpt(.question))]
    SessionAsks { session: SessionId, question: String, typing: bool },
    /// A question that is not the one that is asked now.
    #[error("there is no question '{item}': {why}")]
    QuestionOver { item: String, why: String },
    /// An answer that cannot go in at once. `hint`: a purpose with its command.
    #[error("{item} cannot be answered now: {why}")]
    Unanswerable { item: String, why: String, hint: String },
    /// The caller has claimed no task.
    #[error("you ({you}) have claimed no task")]
    NothingClaimed { you: String },
    /// The caller has claimed several tasks and named none.
    #[error("you have claimed {} tasks: {}", .tasks.len(), .tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", "))]
    SeveralClaimed { tasks: Vec<TaskId>, command: &'static str },
    /// No live session is in the audience of a text. `later` is the flag of `message send` that reaches the next one.
    #[error("{of} has no live session{}", if .later.is_none() { " but the sender" } else { "" })]
    NoLiveSession { of: String, later: Option<String> },
    /// The session belongs to another host or container.
    #[error("session {session} runs on host {host}, not on this host")]
    SessionElsewhere { session: SessionId, host: String, command: String, is_silent: bool },
    /// The session belongs to another task, session run or role.
    #[error("{why}")]
    SessionMismatch { why: String },
    /// The task has an open handoff already.
    #[error("{task} is offered already: handoff {handoff} to {to} is open")]
    AlreadyOffered { task: TaskId, handoff: i64, to: String, is_yours: bool },
    /// An acceptance cannot bring the work into the acceptor's lane.
    #[error("cannot move the work of handoff {handoff}: {why}")]
    WorkNotMoved { handoff: i64, why: String, hint: String },
    /// The record is already answered.
    #[error("{noun} {id} is already {status}")]
    AlreadyAnswered { noun: &'static str, id: i64, status: &'static str },
    /// The provider no longer waits for the approval.
    #[error("approval {id} is no longer pending{}", .why.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    ApprovalLapsed { id: i64, why: Option<String> },
    /// The provider takes the answer only in its own window.
    #[error("approval {id} cannot be answered from here: {provider} asks in its own window")]
    NotAnswerable { id: i64, session: SessionId, provider: String },
    /// A session would approve its own request.
    #[error("session {session} cannot answer its own approval request {id}")]
    SelfApproval { id: i64, session: SessionId },
    /// A provider's settings file is invalid.
    #[error("{path} {why}; it was not changed")]
    InvalidSettings { path: String, why: String },
    /// A link leads out of the repository.
    #[error("{file} is {target}, outside of the repository, by a link")]
    LinkOutside { file: String, target: String },
    /// A handoff to another role or lane.
    #[error("handoff {id} is for the {} {wants}; you {} {have}", if *.is_role { "role" } else { "lane" },
        if *.is_role { "act as" } else { "work in" })]
    NotForYou { id: i64, wants: String, have: String, is_role: bool },
    /// Only the creator may withdraw the record.
    #[error("{noun} {id} was created by {by}, not by you ({you})")]
    NotCreator { noun: &'static str, id: i64, by: String, you: String },
    /// A command of the demo failed, or its scripted agent did not come to its end.
    #[error("the demo stopped at: {command}")]
    DemoFailed { command: String },
    /// A person's command, called from inside a session.
    #[error("{command} is a person's command and is refused inside a session")]
    InsideSession { command: &'static str },
    /// A person at the terminal did not say yes.
    #[error("not confirmed; nothing was changed")]
    NotConfirmed,
    /// A command that asks a person was called without a terminal.
    #[error("{command} needs a terminal to ask at")]
    NeedsTerminal { command: &'static str, instead: &'static str },
    /// A gate needs git, and the task's work has no worktree that could be asked.
    #[error("{task} has no worktree to look at: {why}")]
    NoWorktree { task: TaskId, why: String },
    /// Gates have blockers.
    #[error("{} is not ready: {}", .0.task, .0.blockers.iter().map(|blocker| blocker.message.as_str()).collect::<Vec<_>>().join("; "))]
    GateBlocked(GateReport),
    /// A dependency or parent would close a cycle.
    #[error("that would close a cycle: {}", .path.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" → "))]
    Cycle { path: Vec<TaskId> },
    /// No task can be claimed.
    #[error("{}", if .skipped.is_empty() { "no task is ready".to_owned() } else {
        format!("no claimable task: role, lane or path rules exclude {}", plural::count(.skipped.len(), "ready task"))
    })]
    NothingReady { skipped: Vec<SkippedTask> },
    #[error("nothing arrived within {within}")]
    WaitTimedOut { within: String },
    /// The session has not acknowledged the prompt.
    #[error("prompt {id} is not acknowledged: {}{}", match (.status, .way) {
        (MessageStatus::Expired | MessageStatus::Withdrawn, _) => format!("it is {}", .status),
        (_, Some(way)) => format!("after {within} it is {} (via {way})", .status),
        (_, None) => format!("after {within} it is {}", .status),
    }, .waits.as_ref().map(|waits| format!("; {}", waits.text)).unwrap_or_default())]
    NotAcknowledged {
        id: i64,
        status: MessageStatus,
        way: Option<Channel>,
        within: String,
        waits: Option<Box<PromptWait>>,
    },
    /// The first prompt of a launched session has not arrived.
    #[error("the session {session} runs, but its first prompt has not arrived within {within}{}",
        .question.as_ref().map(|question| format!(": it asks a person: {question}")).unwrap_or_default())]
    FirstPromptPending { session: String, question: Option<String>, message: Option<i64>, within: String },
    /// A `--request-id` that was used for something else.
    #[error("the request id '{id}' was used for another command")]
    RequestReused { id: String },
    /// An `--event-id` that was used for something else.
    #[error("the event id '{id}' was used for another event of this session")]
    EventReused { id: String },
    /// The command of this `--request-id` was started and has no result yet.
    #[error("request '{id}' is in progress or was interrupted: {became}; it was not started again")]
    RequestPending { id: String, became: String, running: bool },
    /// The job has ended.
    #[error("job {run} has ended ({status})")]
    JobFinal { run: String, status: JobStatus },
    /// The job has not started.
    #[error("job {run} is queued and reads no input yet")]
    JobQueued { run: String },
    /// The job has no terminal.
    #[error("job {run} has no terminal: it was started without --pty")]
    NoTerminal { run: String },
    /// The program of the job does not read its terminal.
    #[error("the input of job {run} is full because its program does not read it; {taken} bytes were written")]
    InputFull { run: String, taken: usize },
    /// The supervisor of the job died.
    #[error("job {run} has no supervisor: its supervisor died")]
    JobUnsupervised { run: String },
    /// The job belongs to another host or container.
    #[error("job {run} belongs to the host {host}, not to this one")]
    JobElsewhere { run: String, host: String, command: String, is_silent: bool },
    /// The host to give up is the local one.
    #[error("the host {host} is this one")]
    OwnHost { host: String },
    /// What is to be given up may be at work: its host was heard of lately.
    #[error("the host {host} was heard of {ago} ago: {subject} may be at work there")]
    HostAlive { subject: String, host: String, ago: String, there: Option<String>, force: String },
    /// The supervisor of the job is alive and does not answer.
    #[error("the supervisor of job {run} does not answer")]
    JobUnresponsive { run: String },
    /// The file of the paired devices cannot be used.
    #[error("the paired devices cannot be read from {file}: {why}")]
    DevicesUnreadable { file: String, why: String },
    /// No server shows the page of this project.
    #[error("no server shows the page of this project")]
    NoPageServer,
    /// A pairing code that is unknown, used, too old, or was tried too often.
    #[error("this code pairs no device: it is unknown, was used, is older than {} minutes, or was followed by too many wrong ones",
        super::device::PAIRING_LIFETIME.as_secs() / 60)]
    PairingRefused,
    /// Another server uses the address.
    #[error("a server is already listening at {place}")]
    ServeRunning { place: String },
    /// A plugin of the provider brings the hooks already.
    #[error(
        "the plugin {plugin}, which {file} enables, brings the hooks of {provider}: with entries beside it each event would run two hooks"
    )]
    PluginHasHooks { provider: &'static str, plugin: String, file: String, disable: String },
    /// A tool of an agent needs a session, and the environment names none.
    #[error("{tool} acts for a session, and the environment names none")]
    NoSession { tool: &'static str },
    /// The guard denied the tool call.
    #[error("{}{reason}", rule.as_ref().map(|rule| format!("{rule}: ")).unwrap_or_default())]
    GuardDenied { reason: String, rule: Option<String> },
    /// The configuration names programs and is not trusted.
    #[error("{why}")]
    Untrusted { why: String },
    /// The store or the local configuration is tracked by git.
    #[error("{path} is tracked by git: a committed copy could act in your name")]
    TrackedByGit { path: String },
}

/// The first files of a list, and how many more there are.
fn list_files(files: &[String]) -> String {
    const MAX_LISTED: usize = 5;
    let listed: Vec<&str> = files.iter().take(MAX_LISTED).map(String::as_str).collect();
    match files.len().saturating_sub(MAX_LISTED) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

fn claimed_by(claimant: Option<&str>) -> String {
    claimant.map_or_else(|| " and has no claimant".into(), |claimant| format!(" (claimed by {claimant})"))
}

/// A noun as a sentence says it. `details` keep older words, which are a promise.
fn spoken(noun: &'static str) -> &'static str {
    const SPOKEN: [(&str, &str); 2] = [("run", "job"), ("adapter script", "backend script")];
    SPOKEN.iter().find(|(kept, _)| *kept == noun).map_or(noun, |(_, spoken)| spoken)
}

/// Why a backend's script cannot be run, when it is there.
pub const NOT_EXECUTABLE: &str = "is not executable";

impl Refusal {
    /// The stable code, as in the documentation.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::FileUnreadable { .. } => "invalid_value",
            Self::SandboxUnavailable { .. } => "sandbox_unavailable",
            Self::BackendCannot { .. } => "adapter_unsupported",
            Self::Line { .. } | Self::IssueKeysMissing { .. } => "invalid_line",
            Self::Usage { .. }
            | Self::ArgumentMissing { .. }
            | Self::NeedsTerminal { .. }
            | Self::NoLaunchRole { .. }
            | Self::NoStructuredProgram { .. }
            | Self::TitleExpected { .. }
            | Self::RelaunchNeeds { .. }
            | Self::SeveralAgentPrograms { .. } => "usage",
            Self::NotFound { .. }
            | Self::QuestionOver { .. }
            | Self::UnknownBackend { .. }
            | Self::NoBackendScript { .. }
            | Self::RunUnregistered { .. }
            | Self::NoneFound { .. }
            | Self::TaskRemoved { .. }
            | Self::NoLiveSession { .. }
            | Self::NoAgentProgram { .. }
            | Self::WorktreeMissing { .. }
            | Self::BeforeReflog { .. }
            | Self::NoBase { .. }
            | Self::NoCommit { .. }
            | Self::NoCandidate { .. } => "not_found",
            Self::Ambiguous { .. } | Self::SeveralClaimed { .. } => "ambiguous",
            Self::AlreadyExists { .. } | Self::IdUsed { .. } => "exists",
            Self::LaneDamaged { .. } => "lane_damaged",
            Self::InUse { .. } | Self::TaskInUse { .. } | Self::LaneHeld { .. } => "in_use",
            Self::SandboxRunning { .. } => "in_use",
            Self::SandboxRequired { .. } => "sandbox_required",
            Self::UnsavedWork { .. } => "unsaved_work",
            Self::SandboxWithoutLane { .. }
            | Self::LaneWithoutWorktree { .. }
            | Self::NoWorktree { .. }
            | Self::NoRepository { .. } => "no_worktree",
            Self::LaneElsewhere { .. } => "lane_elsewhere",
            Self::WorktreeNotOwned { .. } => "worktree_not_owned",
            Self::WrongBranch { .. } | Self::SandboxLaneUnfit { .. } => "wrong_branch",
            Self::MergeCommits { .. } | Self::CannotRebase { .. } => "merge_commits",
            Self::SyncConflict { .. } => "sync_conflict",
            Self::NotLandable { .. } => "gate_blocked",
            Self::NoTaskCommit { .. } | Self::NoLaneCommit { .. } => "no_commit",
            Self::OperationUnfinished { .. } => "operation_unfinished",
            Self::BaseBehind { .. } => "base_behind",
            Self::BaseInSeveral { .. } => "base_checked_out",
            Self::CheckoutChanged { .. } | Self::FilesInTheWay { .. } => "checkout_changed",
            Self::BaseLocked { .. } => "base_locked",
            Self::NoCommonCommit { .. } => "no_common_commit",
            Self::BaseMoved { .. } => "base_moved",
            Self::NoUpstream { .. } => "no_upstream",
            Self::WorkElsewhere { .. } => "work_elsewhere",
            Self::FetchFailed { .. } => "fetch_failed",
            Self::PushFailed { .. } => "push_failed",
            Self::PushUnknown { .. } => "push_unknown",
            Self::PushRaced { .. } => "push_raced",
            Self::NoIdentity { .. } => "no_identity",
            Self::SubmoduleCommitMissing { .. } => "submodule_commit_missing",
            Self::LandConflict { .. } => "land_conflict",
            Self::LandPaused { .. } => "land_paused",
            Self::SentBackBefore { .. } => "sent_back_before",
            Self::LandCheckFailed(_) => "land_check_failed",
            Self::ChecksEnded { .. } => "program_failed",
            Self::LandStopped(stopped) => match stopped.cause {
                StopCause::BaseRed => "land_base_red",
                StopCause::ProgramMissing => "land_program_missing",
                StopCause::PrepareFailed => "land_prepare_failed",
            },
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
            Self::ReviewFull { .. } => "review_full",
            Self::PathConflict { .. } => "path_conflict",
            Self::SessionFinal { .. } => "session_final",
            Self::SessionExited { .. } => "session_gone",
            Self::SessionAlive { .. } => "session_alive",
            Self::HostAlive { .. } | Self::OwnHost { .. } => "host_alive",
            Self::SessionMismatch { .. } | Self::SessionElsewhere { .. } => "session_mismatch",
            Self::SessionAsks { .. } => "session_asks",
            Self::NothingClaimed { .. } => "nothing_claimed",
            Self::AlreadyOffered { .. } => "already_offered",
            Self::WorkNotMoved { .. } => "work_not_moved",
            Self::AlreadyAnswered { .. } => "already_answered",
            Self::ApprovalLapsed { .. } => "approval_lapsed",
            Self::NotAnswerable { .. } | Self::Unanswerable { .. } => "not_answerable",
            Self::SelfApproval { .. } => "own_approval",
            Self::InvalidSettings { .. } => "settings_invalid",
            Self::LinkOutside { .. } => "link_outside",
            Self::NotForYou { is_role: true, .. } => "role_mismatch",
            Self::NotForYou { is_role: false, .. } => "lane_mismatch",
            Self::NotCreator { .. } => "not_creator",
            Self::DemoFailed { .. } => "demo_failed",
            Self::InsideSession { .. } => "inside_session",
            Self::NotConfirmed => "not_confirmed",
            Self::GateBlocked(_) => "gate_blocked",
            Self::Cycle { .. } => "cycle",
            Self::NothingReady { .. } => "nothing_ready",
            Self::WaitTimedOut { .. } => "nothing_arrived",
            Self::NotAcknowledged { .. } => "not_acknowledged",
            Self::FirstPromptPending { .. } => "first_prompt_pending",
            Self::RequestReused { .. } | Self::EventReused { .. } => "request_reused",
            Self::RequestPending { .. } => "request_open",
            Self::JobFinal { .. } => "run_final",
            Self::JobQueued { .. } => "run_queued",
            Self::NoTerminal { .. } => "no_terminal",
            Self::InputFull { .. } => "input_full",
            Self::JobUnsupervised { .. } | Self::JobElsewhere { .. } => "run_unsupervised",
            Self::JobUnresponsive { .. } => "run_busy",
            Self::DevicesUnreadable { .. } => "devices_unreadable",
            Self::NoPageServer => "no_page_server",
            Self::PairingRefused => "pairing_refused",
            Self::ServeRunning { .. } => "serve_running",
            Self::PluginHasHooks { .. } => "plugin_has_hooks",
            Self::NoSession { .. } => "no_session",
            Self::GuardDenied { .. } => "guard_denied",
            Self::Untrusted { .. } | Self::TrackedByGit { .. } => "untrusted",
        }
    }

    /// [`Refusal::NotFound`] without suggestions.
    pub fn not_found(noun: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound { noun, id: id.into(), near: Vec::new() }
    }

    /// [`Refusal::Invalid`].
    pub fn invalid(what: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { what, why: why.into() }
    }
}

impl From<InvalidValue> for Refusal {
    fn from(InvalidValue { what, why }: InvalidValue) -> Self {
        Self::Invalid { what, why }
    }
}
