//! The members of `data` in an event, by its kind. Every store that a test leaves behind is compared with them. A member that
//! not every event of its kind has stands behind `=> optional`.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::generate;
use fairway_core::domain::EventKind;
use fairway_core::domain::approval::ApprovalStatus;
use fairway_core::domain::budget::BudgetKind;
use fairway_core::domain::checkpoint::{CheckpointOrigin, CheckpointState};
use fairway_core::domain::evidence::EvidenceResult;
use fairway_core::domain::job::{JobStatus, RecoveryPolicy};
use fairway_core::domain::landing::LandStyle;
use fairway_core::domain::lane::LaneStatus;
use fairway_core::domain::message::{Channel, Priority};
use fairway_core::domain::overlap::OverlapLevel;
use fairway_core::domain::parking::ParkingKind;
use fairway_core::domain::review::Verdict;
use fairway_core::domain::sandbox::{SandboxClass, SandboxNetwork};
use fairway_core::domain::session::{Activity, SessionStatus};
use fairway_core::domain::task::TaskStatus;
use fairway_core::wire::EventView;

macro_rules! event_data {
    ($(
        $(#[$meta:meta])*
        $name:ident {
            $($(#[$required_meta:meta])* $required:ident: $required_type:ty,)*
            $(=> optional $($(#[$optional_meta:meta])* $optional:ident: $optional_type:ty,)+)?
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(JsonSchema)]
        struct $name {
            $($(#[$required_meta])* $required: $required_type,)*
            $($(
                $(#[$optional_meta])*
                #[serde(skip_serializing_if = "Option::is_none")]
                $optional: $optional_type,
            )+)?
        }
    )*};
}

event_data! {
    /// A task was added.
    TaskAdded {
        /// Its title.
        title: String,
        /// Its priority.
        priority: i64,
    }

    /// A task was imported.
    TaskImported {
        /// Its title.
        title: String,
        /// Its priority.
        priority: i64,
        /// Its status.
        status: TaskStatus,
        => optional
        /// Its status in the file, in the file's word.
        was: String,
        /// Why it was closed, in the file.
        close_reason: Option<String>,
        /// The address of the issue that it was.
        url: String,
        /// The digest of the issue's title.
        issue_title: String,
        /// The digest of the issue's body.
        issue_body: String,
        /// The digest of the issue's labels.
        issue_labels: String,
    }

    /// Fields of a task were changed.
    TaskEdited {
        /// The names of the fields.
        fields: Vec<String>,
        => optional
        /// The new title; null when the title is the old one.
        title: Option<String>,
        /// The old priority; absent when the priority was not changed.
        priority_before: i64,
        /// The address of the issue that the task follows.
        url: String,
        /// The digest of the issue's title.
        issue_title: String,
        /// The digest of the issue's body.
        issue_body: String,
        /// The digest of the issue's labels.
        issue_labels: String,
    }

    /// The issue of a task has another text, which waits until a person looks at it.
    TaskIssueChanged {
        /// The fields that it would change.
        fields: Vec<String>,
        /// The issue's address.
        url: String,
        /// The issue's title; null when it is the task's.
        title: Option<String>,
        /// The issue's body; null when it is the task's.
        body: Option<String>,
        /// The digest of the issue's title.
        issue_title: String,
        /// The digest of the issue's body.
        issue_body: String,
        /// The digest of the issue's labels.
        issue_labels: String,
    }

    /// A task got a claimant.
    TaskClaimed {
        /// The claim's epoch.
        epoch: i64,
        /// The claimant.
        claimant: String,
        /// The role in which it was claimed.
        role: Option<String>,
        /// How: `fresh`, `expired`, `stolen`, `continued`, `handed_over` or `restored`.
        takeover: String,
        => optional
        /// The previous claimant.
        from: Option<String>,
        /// The reason for the steal.
        reason: Option<String>,
        /// The lane that the claim gave to the task.
        assigned_lane: Option<String>,
    }

    /// The lease of a claim was renewed.
    TaskRenewed {
        /// The claim's epoch.
        epoch: i64,
        /// The end of the lease.
        lease_until: String,
    }

    /// A task changed its status.
    TaskMoved {
        /// The status before.
        from: TaskStatus,
        /// The status afterwards.
        to: TaskStatus,
        /// The newest epoch of the task.
        epoch: i64,
        /// The given reason.
        reason: Option<String>,
        => optional
        /// The lane that an earlier claim gave to the task and that it lost.
        unassigned_lane: Option<String>,
        /// Whether the claimant was overridden.
        forced: bool,
        /// The reason for that.
        force_reason: String,
        /// The claimant that was overridden.
        holder: Option<String>,
    }

    /// The claim of a task was released.
    TaskReleased {
        /// The status before.
        from: TaskStatus,
        /// The status afterwards.
        to: TaskStatus,
        /// The newest epoch of the task.
        epoch: i64,
        /// The given reason.
        reason: Option<String>,
        => optional
        /// The lane that the claim gave to the task and that it lost.
        unassigned_lane: Option<String>,
        /// Whether the claimant was overridden.
        forced: bool,
        /// The reason for that.
        force_reason: String,
        /// The claimant that was overridden, or whose session was dead or on a host that was given up.
        holder: Option<String>,
        /// Whether the claimant's session was proven to be dead.
        dead: bool,
        /// The proof of that.
        proof: String,
    }

    /// The work of a task came into its base.
    TaskLanded {
        /// The number of the landing.
        landing: i64,
        /// The claimant; null without one.
        holder: Option<String>,
        /// The base.
        base: String,
        /// How the work came into it.
        style: LandStyle,
        /// The commit of the work.
        commit: String,
        /// The new commit of the base.
        candidate: Option<String>,
        => optional
        /// The status before, if the landing finished the task.
        from: TaskStatus,
        /// The status afterwards.
        to: TaskStatus,
        /// The newest epoch of the task.
        epoch: i64,
        /// Always null.
        reason: Option<String>,
        /// The lane that an earlier claim gave to the task and that it lost.
        unassigned_lane: Option<String>,
    }

    /// The work of a task did not come into its base.
    TaskSentBack {
        /// The number of the landing.
        landing: i64,
        /// The claimant; null without one.
        holder: Option<String>,
        /// The base.
        base: String,
        /// How the work would have come into it.
        style: LandStyle,
        /// The commit of the work.
        commit: String,
        /// The commit that the base would have got.
        candidate: Option<String>,
        /// Why it did not.
        error: String,
    }

    /// A task was removed.
    TaskRemoved {
        /// Its title.
        title: String,
        /// Its status.
        status: TaskStatus,
    }

    /// A dependency was added or removed.
    TaskDependency {
        /// The task that must be done first.
        depends_on: String,
    }

    /// A lane was added.
    LaneAdded {
        /// Its role.
        role: Option<String>,
        /// Its branch.
        branch: Option<String>,
        /// Its worktree's directory.
        worktree: Option<String>,
        => optional
        /// Whether the worktree was made for it.
        made_worktree: bool,
        /// The commit at which its branch began.
        commit: Option<String>,
        /// The sandbox that each session in it has at least.
        sandbox: SandboxClass,
    }

    /// Fields of a lane were changed.
    LaneEdited {
        /// The names of the fields.
        fields: Vec<String>,
    }

    /// A lane was paused, opened or closed.
    LaneMoved {
        /// The status before.
        from: LaneStatus,
        /// The status afterwards.
        to: LaneStatus,
    }

    /// A lane was removed.
    LaneRemoved {
        /// Its worktree's directory.
        worktree: Option<String>,
        /// Its branch.
        branch: Option<String>,
        /// Whether the worktree was removed too.
        removed_worktree: bool,
        /// Whether the lane is only hidden, because records refer to it.
        hidden: bool,
    }

    /// A lane got the newer commits of its base.
    LaneSynced {
        /// The base.
        base: String,
        /// The commit of the base.
        base_commit: String,
        /// `up_to_date`, `fast_forward`, `merge` or `rebase`.
        how: String,
        /// The number of commits that the lane lacked.
        behind: i64,
        /// The commit of the lane before.
        from: String,
        /// The commit of the lane afterwards.
        to: String,
        /// Whether the sync was interrupted, and completed later.
        interrupted: bool,
    }

    /// The setup of a lane's worktree has begun.
    LaneSetupBegun {}

    /// The commands of `[lanes] setup`, or of `[lanes] teardown`, have run in the worktree of a lane.
    LaneCommands {
        /// The command that failed; null when all have succeeded.
        command: Option<String>,
        /// How it failed.
        how: Option<String>,
    }

    /// The worktree of a lane was removed.
    LaneWorktreeRemoved {
        /// The directory.
        worktree: Option<String>,
        /// The branch.
        branch: Option<String>,
        /// The commit of the branch.
        commit: Option<String>,
    }

    /// The worktree of a lane was made again.
    LaneWorktreeRepaired {
        /// The directory.
        worktree: Option<String>,
        /// The branch.
        branch: Option<String>,
        /// Whether the branch was made anew.
        new_branch: bool,
    }

    /// A session is being started.
    SessionStarting {
        /// Its role.
        role: String,
        /// Its provider.
        provider: Option<String>,
        /// Its backend.
        backend: Option<String>,
        => optional
        /// The backend in which it was until its program was replaced.
        switched_from: Option<String>,
        /// Whether it runs a command of its own instead of the provider's.
        own_command: bool,
        /// The names of the variables that were set for it alone.
        own_env: Vec<String>,
        /// The sandbox around its program.
        sandbox: SandboxClass,
        /// The network of that sandbox; null without one.
        sandbox_network: Option<SandboxNetwork>,
        /// The session that it continues.
        relaunch_of: Option<String>,
    }

    /// A session was made known, or its fields were changed.
    SessionUpserted {
        => optional
        /// Always true: the session is new.
        created: bool,
        /// Its status, when it is new.
        status: SessionStatus,
        /// Its role, when it is new.
        role: String,
        /// Its task, when it is new.
        task_id: Option<String>,
        /// Its provider, when it is new.
        provider: Option<String>,
        /// Its backend, when it is new.
        backend: Option<String>,
        /// The names of the changed fields, when it is known already.
        changed: Vec<String>,
    }

    /// A session runs: its launch is confirmed, or it was starting and showed itself.
    SessionRunning {
        => optional
        /// Its root process, after a launch.
        pid: Option<i64>,
        /// Its pane, after a launch.
        pane: Option<String>,
        /// Its transcript's file, after a launch.
        transcript: Option<String>,
        /// The status before.
        from: SessionStatus,
        /// Its task.
        task_id: Option<String>,
        /// Why it is known to run.
        reason: String,
    }

    /// A session became stale, or is alive again.
    SessionMoved {
        /// The status before.
        from: SessionStatus,
        /// Its task.
        task_id: Option<String>,
        /// Why.
        reason: Option<String>,
    }

    /// The activity of a session changed.
    SessionActivity {
        => optional
        /// The activity before.
        from: Activity,
        /// The activity afterwards.
        to: Activity,
        /// The input that it waits for.
        waiting_for: Option<String>,
        /// How full its context is, 0 to 1, as text.
        context_usage: Option<String>,
        /// The activity while the session is being stopped.
        activity: Activity,
    }

    /// Text was typed into the terminal of a session.
    SessionNudged {
        /// The size of the text.
        bytes: i64,
    }

    /// A session was interrupted.
    SessionInterrupted {}

    /// A session that had stopped was told what its task still needs.
    SessionReminded {
        /// The epoch of its claim.
        epoch: i64,
        /// How often it was told in this claim.
        times: i64,
        /// A digest of its work; null when git did not tell.
        work: Option<String>,
    }

    /// A session is parked.
    SessionParked {
        /// When the parking ends; null when no time ends it.
        parked_until: Option<String>,
        /// Whether a usage limit, a budget or a person is the cause.
        kind: ParkingKind,
        /// The cause as a text.
        why: String,
    }

    /// The parking of a session was ended.
    SessionUnparked {}

    /// A turn of a structured session has ended.
    SessionTurnEnded {
        /// The agent's reason: `end_turn`, `cancelled`, `max_tokens`, `refusal` and others.
        stop_reason: String,
    }

    /// A session is over.
    SessionOver {
        /// The status before.
        from: SessionStatus,
        /// Its task.
        task_id: Option<String>,
        /// Its program's exit code.
        exit_code: Option<i64>,
        /// Why.
        reason: Option<String>,
    }

    /// A checkpoint was recorded.
    CheckpointRecorded {
        /// Its number.
        id: i64,
        /// The state that it reports.
        state: CheckpointState,
        /// The words.
        summary: String,
        => optional
        /// The part of Fairway that recorded it.
        origin: CheckpointOrigin,
    }

    /// A command under a `--request-id` was started, whose evidence follows.
    EvidenceStarted {
        /// The request id.
        request: String,
        /// The command.
        command: String,
        /// The process that runs it.
        pid: Option<i64>,
        /// The start of that process, in the kernel's ticks since boot.
        pid_started: Option<i64>,
        /// The boot that these belong to.
        boot: Option<String>,
    }

    /// Evidence was recorded.
    EvidenceRecorded {
        /// Its number.
        id: i64,
        /// Its kind.
        kind: String,
        /// The result that it shows.
        result: EvidenceResult,
        /// Whether Fairway ran the command itself.
        observed: bool,
        => optional
        /// The check that it ran.
        check: Option<String>,
        /// The command's exit code.
        exit_code: Option<i64>,
        /// The commit that it speaks of.
        commit: Option<String>,
    }

    /// A handoff was made.
    HandoffCreated {
        /// Its number.
        id: i64,
        /// The role that it is for.
        to_role: Option<String>,
        /// The lane that it is for.
        to_lane: Option<String>,
        => optional
        /// The claim that it was made under.
        epoch: Option<i64>,
        /// The words.
        summary: String,
    }

    /// A handoff was answered or withdrawn.
    HandoffAnswered {
        /// Its number.
        id: i64,
        /// The role that it is for.
        to_role: Option<String>,
        /// The lane that it is for.
        to_lane: Option<String>,
        /// The given reason.
        reason: Option<String>,
    }

    /// A review was requested.
    ReviewRequested {
        /// Its number.
        id: i64,
        /// The domain.
        domain: String,
        /// The wanted reviewer.
        reviewer: Option<String>,
    }

    /// A verdict was recorded.
    ReviewRecorded {
        /// Its number.
        id: i64,
        /// The domain.
        domain: String,
        /// The reviewer.
        reviewer: Option<String>,
        /// The verdict.
        verdict: Verdict,
        /// The commit that it speaks of.
        commit: Option<String>,
    }

    /// The request of a review was withdrawn.
    ReviewWithdrawn {
        /// Its number.
        id: i64,
        /// The domain.
        domain: String,
        /// The wanted reviewer.
        reviewer: Option<String>,
        /// The given reason.
        reason: Option<String>,
    }

    /// A comment on a line was written.
    ReviewCommented {
        /// Its number.
        id: i64,
        /// The path of the file.
        path: String,
        /// The number of the line.
        line: i64,
        /// The commit.
        commit: String,
    }

    /// A comment on a line was closed.
    ReviewResolved {
        /// Its number.
        id: i64,
        /// The path of the file.
        path: String,
        /// The number of the line.
        line: i64,
        /// The commit.
        commit: String,
        /// The given reason.
        reason: Option<String>,
    }

    /// A message was sent.
    MessageQueued {
        /// Its number.
        id: i64,
        /// The kind and the name of its recipient, such as `lane web`.
        to: String,
        /// How much it may interrupt.
        priority: Priority,
        /// Where it came from.
        source: String,
        => optional
        /// How often it was sent under its dedup key.
        count: i64,
    }

    /// A message was shown to a reader.
    MessageOffered {
        /// Its number.
        id: i64,
        /// The kind and the name of its recipient.
        to: String,
        /// How much it may interrupt.
        priority: Priority,
        /// Where it came from.
        source: String,
        /// The reader.
        reader: String,
        /// The channel.
        way: Channel,
    }

    /// A reader has a message.
    MessageAcknowledged {
        /// Its number.
        id: i64,
        /// The reader.
        reader: String,
        => optional
        /// The kind and the name of its recipient.
        to: String,
        /// How much it may interrupt.
        priority: Priority,
        /// Where it came from.
        source: String,
        /// The channel.
        way: Option<Channel>,
    }

    /// The turn that has taken a message has ended.
    MessageAnswered {
        /// Its number.
        id: i64,
        /// Why the turn ended: `end_turn`, `cancelled`, `failed` or another word of the agent.
        stop_reason: String,
    }

    /// A message was not read in time, or was withdrawn.
    MessageOver {
        /// Its number.
        id: i64,
        /// The kind and the name of its recipient.
        to: String,
        /// How much it may interrupt.
        priority: Priority,
        /// Where it came from.
        source: String,
        => optional
        /// Why.
        reason: Option<String>,
    }

    /// A provider asks for a permission.
    ApprovalAsked {
        /// Its number.
        id: i64,
        /// The provider.
        provider: String,
        /// The tool.
        tool: String,
        => optional
        /// Whether an answer from Fairway reaches the provider.
        answerable: bool,
        /// Whether a structured agent takes a yes for this call alone.
        once: bool,
        /// Whether it takes one for further calls too.
        always: bool,
    }

    /// A permission request was answered.
    ApprovalAnswered {
        /// Its number.
        id: i64,
        /// The provider.
        provider: String,
        /// The tool.
        tool: String,
        /// The answer.
        answer: ApprovalStatus,
        /// The actor that answered.
        by: Option<String>,
        /// The given reason.
        reason: Option<String>,
        => optional
        /// Whether it is for further calls too.
        always: Option<bool>,
    }

    /// A permission request lapsed.
    ApprovalLapsed {
        /// Its number.
        id: i64,
        /// The provider.
        provider: String,
        /// The tool.
        tool: String,
        /// Why.
        reason: Option<String>,
    }

    /// The guard denied a call.
    GuardDenied {
        /// The number of the decision.
        id: i64,
        /// Where the call came from.
        #[serde(rename = "door")]
        entry_point: String,
        /// The tool.
        tool: String,
        /// The rule that decided.
        rule: Option<String>,
        /// Why.
        reason: String,
    }

    /// An agent started without the guard, or was seen to run what it denies.
    GuardBypassed {
        /// How, and the call.
        what: String,
        => optional
        /// The tool of the call.
        tool: String,
    }

    /// A program in the sandbox of a session asked for a host that is closed.
    SandboxHostRefused {
        /// The host, as it was asked for.
        host: String,
        /// Why it is closed.
        reason: String,
        /// What in `sandbox.hosts` would open it; null for a text that names no host.
        entry: Option<String>,
    }

    /// A person raised a budget.
    BudgetRaised {
        /// Its subject.
        budget: BudgetKind,
        /// The id of the task or session, or the date.
        of: String,
        /// The new cap.
        cap: String,
        /// Why.
        reason: String,
    }

    /// A session reported its usage.
    UsageReported {
        /// The number of new turns.
        turns: i64,
        /// The number of new calls of tools.
        tools: i64,
        => optional
        /// Its task.
        task_id: Option<String>,
    }

    /// A credential of a session ends soon.
    CredentialExpiring {
        /// The credential.
        r#type: String,
        /// Its end.
        expires_at: String,
    }

    /// A job and its start.
    JobOfEvent {
        /// The job's id.
        run: String,
        /// The number of the start, from 1.
        attempt: i64,
        => optional
        /// The job's id.
        exec_run_id: String,
        /// The name that its notifications go to, when that is no session.
        session_key: String,
    }

    /// A job was submitted.
    ExecQueued {
        #[serde(flatten)]
        job: JobOfEvent,
        /// Its queue.
        queue: Option<String>,
        /// Its fate when its supervisor dies.
        recovery: RecoveryPolicy,
        /// Whether the caller went on without waiting.
        background: bool,
    }

    /// The command of a job was started.
    ExecStarted {
        #[serde(flatten)]
        job: JobOfEvent,
        /// Its root process.
        pid: i64,
    }

    /// A job ended.
    ExecFinished {
        #[serde(flatten)]
        job: JobOfEvent,
        /// Its status.
        status: JobStatus,
        /// Its exit code.
        exit_code: Option<i64>,
        /// The signal that ended it.
        signal: Option<i64>,
        /// Why it failed, was canceled or lost.
        error_message: Option<String>,
    }

    /// A job whose supervisor died is queued again.
    ExecRecovered {
        #[serde(flatten)]
        job: JobOfEvent,
        /// Its status.
        status: JobStatus,
        /// Why.
        reason: String,
    }

    /// The record of a job was removed.
    ExecRemoved {
        #[serde(flatten)]
        job: JobOfEvent,
        /// Its status.
        status: JobStatus,
    }

    /// Landing was paused on a host.
    LandingPaused {
        /// Why; null when it was not told.
        reason: Option<String>,
    }

    /// Work lands again.
    LandingResumed {}

    /// Work was proposed as a pull request.
    LandingProposed {
        /// The number that the forge gave it.
        number: i64,
        /// Its address.
        url: String,
        /// The branch that was pushed.
        branch: String,
        /// The commit.
        commit: String,
        /// The base.
        base: String,
        /// The tasks.
        tasks: Vec<String>,
    }

    /// The forge says something else about a pull request than before.
    PullRequestChanged {
        /// The number that the forge gave it.
        number: i64,
        /// open, merged or closed.
        state: String,
        /// What is to be known about it; empty for nothing.
        summary: String,
    }

    /// Nothing more lands in a base: it fails a check alone, a program is missing, or nothing could be prepared.
    LandingStopped {
        /// The number of the landing.
        landing: i64,
        /// The base.
        base: String,
        /// The commit of the base.
        base_commit: String,
        /// The command that failed.
        command: String,
        /// How the command ended.
        how: String,
        /// The file with its output.
        output: String,
    }

    /// An overlap was found, or is gone.
    Overlap {
        /// The other lane; null for the base.
        other_lane: Option<String>,
        /// How surely the lanes collide, and in which way.
        level: OverlapLevel,
        /// The paths of the files.
        files: Vec<String>,
    }

    /// A configuration was trusted.
    ConfigTrusted {
        /// The files.
        files: String,
        /// The digest over all of them.
        digest: String,
    }

    /// Another host was given up.
    HostRetired {
        /// The name of the host and its pid namespace.
        host: String,
        /// The id of the host; null in records of an earlier version.
        host_id: Option<String>,
        /// Who gave it up, when it was last heard of, and why.
        reason: String,
        /// The sessions that have failed by it.
        sessions: Vec<String>,
        /// The tasks whose claims were released.
        released: Vec<String>,
        /// The jobs that are lost by it.
        jobs: Vec<String>,
    }

    /// The store was replaced by a backup, moved to another engine, or put back by the server's own tools.
    StoreRestored {
        /// The backup's file, the store that was left, or `a dump or a replica`.
        from: String,
        /// The file or schema in which the previous store is kept; null when there is none.
        kept: Option<String>,
        /// The epoch of every task from then on.
        epoch: i64,
    }

    /// The store was corrected, or its loss of events was accepted.
    StoreRepaired {
        => optional
        /// The number of corrected rows.
        rows: i64,
        /// The tasks of these rows.
        tasks: Vec<String>,
        /// The number of lost events.
        lost_events: i64,
        /// The epoch of every task from then on.
        epoch: i64,
    }
}

/// The schema of the data of a kind.
fn data_of(kind: EventKind, generator: &mut SchemaGenerator) -> Schema {
    use EventKind as Kind;
    match kind {
        Kind::TaskAdded => generator.subschema_for::<TaskAdded>(),
        Kind::TaskIssueChanged => generator.subschema_for::<TaskIssueChanged>(),
        Kind::TaskImported => generator.subschema_for::<TaskImported>(),
        Kind::TaskEdited => generator.subschema_for::<TaskEdited>(),
        Kind::TaskClaimed => generator.subschema_for::<TaskClaimed>(),
        Kind::TaskRenewed => generator.subschema_for::<TaskRenewed>(),
        Kind::TaskReleased => generator.subschema_for::<TaskReleased>(),
        Kind::TaskBlocked
        | Kind::TaskUnblocked
        | Kind::TaskSubmitted
        | Kind::TaskResumed
        | Kind::TaskDone
        | Kind::TaskCancelled
        | Kind::TaskReopened => generator.subschema_for::<TaskMoved>(),
        Kind::TaskLanded => generator.subschema_for::<TaskLanded>(),
        Kind::TaskSentBack => generator.subschema_for::<TaskSentBack>(),
        Kind::TaskRemoved => generator.subschema_for::<TaskRemoved>(),
        Kind::TaskDepAdded | Kind::TaskDepRemoved => generator.subschema_for::<TaskDependency>(),
        Kind::LaneAdded => generator.subschema_for::<LaneAdded>(),
        Kind::LaneEdited => generator.subschema_for::<LaneEdited>(),
        Kind::LanePaused | Kind::LaneOpened | Kind::LaneClosed => generator.subschema_for::<LaneMoved>(),
        Kind::LaneRemoved => generator.subschema_for::<LaneRemoved>(),
        Kind::LaneSynced => generator.subschema_for::<LaneSynced>(),
        Kind::LaneSettingUp => generator.subschema_for::<LaneSetupBegun>(),
        Kind::LaneSetUp | Kind::LaneTornDown => generator.subschema_for::<LaneCommands>(),
        Kind::LaneWorktreeRemoved => generator.subschema_for::<LaneWorktreeRemoved>(),
        Kind::LaneWorktreeRepaired => generator.subschema_for::<LaneWorktreeRepaired>(),
        Kind::SessionStarting => generator.subschema_for::<SessionStarting>(),
        Kind::SessionUpserted => generator.subschema_for::<SessionUpserted>(),
        Kind::SessionRunning => generator.subschema_for::<SessionRunning>(),
        Kind::SessionRevived | Kind::SessionStale => generator.subschema_for::<SessionMoved>(),
        Kind::SessionActivity => generator.subschema_for::<SessionActivity>(),
        Kind::SessionNudged => generator.subschema_for::<SessionNudged>(),
        Kind::SessionInterrupted => generator.subschema_for::<SessionInterrupted>(),
        Kind::SessionParked => generator.subschema_for::<SessionParked>(),
        Kind::SessionUnparked => generator.subschema_for::<SessionUnparked>(),
        Kind::SessionReminded => generator.subschema_for::<SessionReminded>(),
        Kind::SessionTurnEnded => generator.subschema_for::<SessionTurnEnded>(),
        Kind::SessionEnded | Kind::SessionFailed => generator.subschema_for::<SessionOver>(),
        Kind::CheckpointRecorded => generator.subschema_for::<CheckpointRecorded>(),
        Kind::EvidenceStarted => generator.subschema_for::<EvidenceStarted>(),
        Kind::EvidenceRecorded => generator.subschema_for::<EvidenceRecorded>(),
        Kind::HandoffCreated => generator.subschema_for::<HandoffCreated>(),
        Kind::HandoffAccepted | Kind::HandoffDeclined | Kind::HandoffWithdrawn => {
            generator.subschema_for::<HandoffAnswered>()
        }
        Kind::ReviewRequested => generator.subschema_for::<ReviewRequested>(),
        Kind::ReviewRecorded => generator.subschema_for::<ReviewRecorded>(),
        Kind::ReviewWithdrawn => generator.subschema_for::<ReviewWithdrawn>(),
        Kind::ReviewCommented => generator.subschema_for::<ReviewCommented>(),
        Kind::ReviewResolved => generator.subschema_for::<ReviewResolved>(),
        Kind::MessageQueued => generator.subschema_for::<MessageQueued>(),
        Kind::MessageOffered => generator.subschema_for::<MessageOffered>(),
        Kind::MessageAcknowledged => generator.subschema_for::<MessageAcknowledged>(),
        Kind::MessageAnswered => generator.subschema_for::<MessageAnswered>(),
        Kind::MessageExpired | Kind::MessageWithdrawn => generator.subschema_for::<MessageOver>(),
        Kind::ApprovalAsked => generator.subschema_for::<ApprovalAsked>(),
        Kind::ApprovalAnswered => generator.subschema_for::<ApprovalAnswered>(),
        Kind::ApprovalLapsed => generator.subschema_for::<ApprovalLapsed>(),
        Kind::GuardDenied => generator.subschema_for::<GuardDenied>(),
        Kind::GuardBypassed => generator.subschema_for::<GuardBypassed>(),
        Kind::SandboxHostRefused => generator.subschema_for::<SandboxHostRefused>(),
        Kind::BudgetRaised => generator.subschema_for::<BudgetRaised>(),
        Kind::UsageReported => generator.subschema_for::<UsageReported>(),
        Kind::CredentialExpiring => generator.subschema_for::<CredentialExpiring>(),
        Kind::ExecQueued => generator.subschema_for::<ExecQueued>(),
        Kind::ExecStarted => generator.subschema_for::<ExecStarted>(),
        Kind::ExecFinished => generator.subschema_for::<ExecFinished>(),
        Kind::ExecRecovered => generator.subschema_for::<ExecRecovered>(),
        Kind::ExecRemoved => generator.subschema_for::<ExecRemoved>(),
        Kind::LandingPaused => generator.subschema_for::<LandingPaused>(),
        Kind::LandingResumed => generator.subschema_for::<LandingResumed>(),
        Kind::LandingProposed => generator.subschema_for::<LandingProposed>(),
        Kind::PullRequestChanged => generator.subschema_for::<PullRequestChanged>(),
        Kind::LandingStopped => generator.subschema_for::<LandingStopped>(),
        Kind::OverlapFound | Kind::OverlapCleared => generator.subschema_for::<Overlap>(),
        Kind::ConfigTrusted => generator.subschema_for::<ConfigTrusted>(),
        Kind::HostRetired => generator.subschema_for::<HostRetired>(),
        Kind::StoreRestored => generator.subschema_for::<StoreRestored>(),
        Kind::StoreRepaired => generator.subschema_for::<StoreRepaired>(),
    }
}

/// The schema of an event: of a known kind, its data have the members of that kind.
pub(super) fn event_schema() -> Value {
    let mut generator = generate::generator();
    let conditions: Vec<Value> = EventKind::ALL
        .iter()
        .map(|kind| {
            json!({
                "if": { "properties": { "kind": { "const": kind.as_str() } } },
                "then": { "properties": { "data": data_of(*kind, &mut generator) } },
            })
        })
        .collect();
    let mut schema = generator.into_root_schema_for::<EventView>();
    schema.insert("allOf".to_owned(), Value::Array(conditions));
    generate::to_published(schema)
}
