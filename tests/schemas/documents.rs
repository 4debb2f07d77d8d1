//! The table of documents: which type each command prints.

use schemars::JsonSchema;
use serde_json::Value;

use super::{event_data, generate};
use crate::api::ListenAddress;
use fairway_actions::sessions::control::peek::Peek;
use fairway_core::domain::blocker::{GateReport, JudgedWork};
use fairway_core::domain::checkpoint::Checkpoint;
use fairway_core::domain::evidence::Evidence;
use fairway_core::domain::handoff::Handoff;
use fairway_core::wire::import::{ImportReport, IssueImportReport};
use fairway_core::wire::{
    AcceptedHandoffView, AdapterCheckView, ApprovalView, BackendView, BackupView, BoardView, BudgetView,
    CheckpointResultView, ClaimedView, CompletionsView, ConfigCheckView, ConfigExampleView, ContextView, DemoView,
    DepTreeView, DevicePairView, DeviceRevokedView, DeviceView, DoctorView, ErrorDocument, EvaluationView,
    EvidenceDetailView, ExplainView, FailedIdView, ForegroundView, GuardResultView, GuideTopicView, GuideView,
    HelpView, HookChangeView, HostRenewedView, HostRetiredView, HostView, InitView, InstalledScriptsView, JobGcView,
    JobItemView, JobKillView, JobLogView, JobPollView, JobSpawnView, JobView, JobWorkerView, LandPausedView,
    LandQueueView, LandView, LaneDetailView, LaneDiffView, LanePruneView, LaneSyncView, LaneTrimView, LaneView,
    LaunchView, LaunchedView, LoggedDecisionView, ManPageView, ManPagesView, MessageView, MissingEventsView,
    NotificationView, NotifyStateView, OutboxView, OverlapView, PromptView, ProviderEventView, ProviderView,
    PullSyncsView, ReconcileView, RelaunchedView, ReleasedView, RemovedJobsView, RemovedTasksView, RestoreView,
    ReviewCommentView, ReviewNextView, ReviewView, SandboxCheckView, SandboxTakeBackView, SandboxView, SearchHitView,
    SendKeysView, SentView, ServeUnitView, SessionDetailView, SessionMetaView, SessionOverviewView, SessionView,
    SettingView, SetupView, SidecarView, SkillView, SnapshotView, StartPlanView, StartedView, StoreCopyView,
    StoreMigrationView, StoreRestoredView, StoreView, TaskDetailView, TaskView, TriedAgentView, TrustView, UsageView,
    WorkEventView,
};

/// A document.
pub(super) struct Document {
    /// Its name, and that of its file.
    pub(super) name: &'static str,
    /// It in a few words.
    pub(super) about: &'static str,
    /// Its schema.
    pub(super) schema: fn() -> Value,
    /// The calls that print it with `--json`: the words of a command, then what makes the difference between its documents.
    pub(super) printed_by: &'static [&'static str],
    /// The calls that print one on each line.
    pub(super) printed_in_lines_by: &'static [&'static str],
}

const fn document<T: JsonSchema>(
    name: &'static str,
    about: &'static str,
    printed_by: &'static [&'static str],
) -> Document {
    Document { name, about, schema: generate::schema_of::<T>, printed_by, printed_in_lines_by: &[] }
}

impl Document {
    const fn in_lines(self, printed_in_lines_by: &'static [&'static str]) -> Self {
        Self { printed_in_lines_by, ..self }
    }
}

/// The answer to a command with several ids: for each the document of one, or its failure.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(dead_code, reason = "only the schema is used")]
enum Each<T> {
    Done(T),
    Failed(FailedIdView),
}

/// The answer to `done`: the task, and the work that its gates judged.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is used")]
struct DoneTask {
    #[serde(flatten)]
    task: TaskView,
    /// The work that was judged; null when no worktree is known.
    judged: Option<JudgedWork>,
}

/// The answer to `restore --latest`: the restored snapshot, and what it lacks.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is used")]
struct LatestRestore {
    #[serde(flatten)]
    restored: RestoreView,
    /// The snapshot.
    snapshot: SnapshotView,
    /// The events that happened after the snapshot was made.
    missing: MissingEventsView,
}

/// Every document, by its name. A command may have several.
pub(super) const DOCUMENTS: &[Document] = &[
    document::<AcceptedHandoffView>("accepted-handoff", "A handoff and who has its task now", &["handoff accept"]),
    document::<AdapterCheckView>(
        "adapter-check",
        "The operations of a backend script, tried",
        &["adapter check", "adapter check forge"],
    ),
    document::<ApprovalView>("approval", "A permission request", &["approvals answer"]).in_lines(&["approvals watch"]),
    document::<Vec<Each<ApprovalView>>>(
        "approval-each",
        "Permission requests or failures",
        &["approvals answer ID ID"],
    ),
    document::<Vec<ApprovalView>>("approval-list", "Permission requests", &["approvals", "approvals list"]),
    document::<Vec<BackendView>>("backend-list", "Backends", &["adapter list"]),
    document::<BackupView>("backup", "A backup", &["backup"]),
    document::<BoardView>("board", "The board", &["status"]),
    document::<BudgetView>("budget", "A budget", &["budget raise"]),
    document::<Vec<BudgetView>>("budget-list", "Budgets", &["budget"]),
    document::<Checkpoint>("checkpoint", "A checkpoint", &["checkpoint show", "checkpoint latest"]),
    document::<Vec<Checkpoint>>("checkpoint-list", "Checkpoints", &["checkpoint list", "checkpoint overdue"]),
    document::<ClaimedView>("claim", "A task with its claim", &["claim", "task claim"]),
    document::<CompletionsView>("completions", "A shell's completions", &["completions"]),
    document::<ConfigCheckView>("config-check", "A configuration that can be used", &["config check"]),
    document::<ConfigExampleView>("config-example", "The example of a configuration", &["config example"]),
    document::<Vec<SettingView>>("config-settings", "The settings in force", &["config show"]),
    document::<ContextView>("context", "The context of an agent", &["prime"]),
    document::<DemoView>("demo", "A demo that ran", &["demo"]),
    document::<DepTreeView>("dependency-tree", "The dependencies of a task", &["task dep tree"]),
    document::<Vec<DeviceView>>("device-list", "Browsers that are paired with the page", &["device list"]),
    document::<DevicePairView>("device-pairing", "A code that pairs one browser", &["device pair"]),
    document::<DeviceRevokedView>("device-revoked", "A browser that is paired no more", &["device revoke"]),
    document::<DoctorView>("doctor", "Findings", &["doctor", "doctor hooks"]),
    document::<DoneTask>("done", "A task that is done, and the work that was judged", &["done", "task done"]),
    document::<ErrorDocument<'static>>("error", "A failure, on stderr", &[]),
    Document {
        name: "event",
        about: "An event of the log",
        schema: event_data::event_schema,
        printed_by: &[],
        printed_in_lines_by: &["events"],
    },
    document::<Evidence>("evidence", "A record of evidence", &["evidence run", "evidence add"]),
    document::<EvidenceDetailView>("evidence-detail", "Evidence with its output", &["evidence show"]),
    document::<Vec<Evidence>>("evidence-list", "Records of evidence", &["evidence list"]),
    document::<ExplainView>(
        "explain",
        "The facts about a task or session",
        &["explain", "explain task", "explain session"],
    ),
    document::<GateReport>("gate-report", "The gates of a task", &["merge-ready", "task merge-check"]),
    document::<GuardResultView>("guard-decision", "The guard's decision on a call", &["guard check"]),
    document::<EvaluationView>("guard-evaluation", "How the guard would decide", &["guard test"]),
    document::<Vec<LoggedDecisionView>>("guard-log", "Logged decisions of the guard", &["guard log"]),
    document::<GuideView>("guide", "How an agent works in a project, or a guide", &["guide"]),
    document::<Vec<GuideTopicView>>("guide-list", "The topics of the guides", &["guide --list"]),
    document::<Handoff>("handoff", "A handoff", &["handoff create", "handoff decline", "handoff withdraw"]),
    document::<Vec<Handoff>>("handoff-list", "Handoffs", &["handoff list"]),
    document::<HelpView>("help", "The help of a command or topic", &["help"]),
    document::<HookChangeView>("hook-change", "Changed settings of a provider", &["hook install", "hook uninstall"]),
    document::<Vec<HostView>>("host-list", "Hosts", &["host list"]),
    document::<HostRenewedView>("host-renewed", "A host that got a new id", &["host renew"]),
    document::<HostRetiredView>("host-retired", "A host that was given up", &["host retire"]),
    document::<ImportReport>("import", "Imported tasks", &["task import"]),
    document::<IssueImportReport>("import-issues", "Imported issues", &["task import --from"]),
    document::<InitView>("init", "A project's beginning", &["init"]),
    document::<InstalledScriptsView>(
        "installed-scripts",
        "Backend scripts and examples that were written",
        &["adapter install"],
    ),
    document::<ForegroundView>("job-foreground", "A job in the foreground that ended", &["exec call"]),
    document::<JobGcView>("job-gc", "Jobs beyond the limits of retention", &["exec gc", "exec call"]),
    document::<JobItemView>("job-item", "An item of a job's output", &[]).in_lines(&["exec log --follow"]),
    document::<SendKeysView>("job-keys", "Keys that were sent to a job", &["exec send-keys", "exec call"]),
    document::<JobKillView>("job-kill", "A job that was killed", &["exec kill", "exec call"]),
    document::<Vec<JobView>>("job-list", "Jobs", &["exec list", "exec wait", "exec call"]),
    document::<JobLogView>("job-log", "A part of a job's output", &["exec log", "exec call"]),
    document::<JobPollView>(
        "job-poll",
        "A job and its new output",
        &["exec poll", "exec spawn --foreground", "exec spawn --wait-for", "exec call"],
    ),
    document::<RemovedJobsView>("job-removed", "Jobs that were removed", &["exec rm", "exec call"]),
    document::<JobSpawnView>("job-spawn", "A job that was submitted", &["exec spawn", "exec call"]),
    document::<JobWorkerView>("job-worker", "The work of a job worker", &["exec worker"]),
    document::<LandView>("land", "Landings", &["land"]),
    document::<LandPausedView>("land-paused", "Whether landing is paused", &["land pause", "land resume"]),
    document::<LandQueueView>("land-queue", "The queue of landing", &["land show"]),
    document::<LaneView>(
        "lane",
        "A lane",
        &["lane add", "lane edit", "lane pause", "lane open", "lane close", "lane setup", "lane rm", "lane repair"],
    ),
    document::<LaneDetailView>("lane-detail", "A lane with what is in it", &["lane show"]),
    document::<LaneDiffView>("lane-diff", "The changes of a lane", &["lane diff"]),
    document::<Vec<LaneView>>("lane-list", "Lanes", &["lane list"]),
    document::<LanePruneView>("lane-prune", "Worktrees that were removed", &["lane prune"]),
    document::<LaneSyncView>("lane-sync", "A lane that got its base", &["lane sync"]),
    document::<LaneTrimView>("lane-trim", "What was removed from lanes", &["lane trim"]),
    document::<LaunchView>("launch-plan", "A launch that was not done", &["session launch --dry-run"]),
    document::<LaunchedView>(
        "launched",
        "A session that was launched",
        &["session launch", "session terminal", "session structured"],
    ),
    document::<ManPageView>("man-page", "A manual page", &["man"]),
    document::<ManPagesView>("man-pages", "Manual pages that were written", &["man --output"]),
    document::<MessageView>("message", "A message", &["message send"]),
    document::<Vec<MessageView>>("message-list", "Messages to the reader", &["inbox"]),
    document::<NotificationView>("notification", "A notification, on stdin of the sink's program", &[]),
    document::<SentView>("notification-sent", "A notification that was sent", &[])
        .in_lines(&["notify --follow", "notify --once", "notify --test"]),
    document::<NotifyStateView>("notify", "The state of notifications", &["notify"]),
    document::<Vec<OutboxView>>("outbox-list", "Messages of the sender", &["outbox", "outbox list"]),
    document::<OutboxView>("outbox-message", "A message and its reader", &["outbox withdraw"]),
    document::<OverlapView>("overlap", "Overlaps of lanes", &["overlap"]),
    document::<Peek>("peek", "The screen of a session", &["session peek"]),
    document::<PromptView>("prompt", "A prompt", &["prompt", "session continue"]),
    document::<ProviderEventView>("provider-event", "The effects of a provider's event", &["session event"]),
    document::<Vec<ProviderView>>("provider-list", "Providers", &["provider list"]),
    document::<PullSyncsView>("pull-requests", "Pull requests, as the forge has told of them", &["pr sync"]),
    document::<ReconcileView>("reconcile", "The findings of reconcile", &["session reconcile"]),
    document::<CheckpointResultView>(
        "recorded-checkpoint",
        "A checkpoint that was recorded, and new messages",
        &["checkpoint record", "note"],
    ),
    document::<RelaunchedView>("relaunched", "A session that continues another one", &["session relaunch"]),
    document::<Vec<Each<RelaunchedView>>>(
        "relaunched-each",
        "Relaunched sessions or failures",
        &["session relaunch ID ID"],
    ),
    document::<ReleasedView>("released", "Tasks that were released", &["release", "task release"]),
    document::<RestoreView>("restore", "A restored store", &["restore"]),
    document::<LatestRestore>("restore-latest", "A restored snapshot", &["restore --latest"]),
    document::<ReviewView>("review", "A review", &["review request", "review record", "review withdraw"]),
    document::<ReviewNextView>("review-card", "The card of a submitted task", &["review next"]),
    document::<ReviewCommentView>("review-comment", "A comment on a line", &["review comment", "review resolve"]),
    document::<Vec<ReviewCommentView>>("review-comment-list", "Comments on lines", &["review comments"]),
    document::<Vec<ReviewView>>("review-list", "Reviews", &["review list"]),
    document::<SandboxView>("sandbox", "What the sandbox of a lane opens", &["sandbox explain"]),
    document::<SandboxCheckView>("sandbox-check", "What a sandbox keeps in", &["sandbox check"]),
    document::<SandboxTakeBackView>(
        "sandbox-take-back",
        "Commits of sandboxes that are taken back",
        &["sandbox take-back"],
    ),
    document::<Vec<SearchHitView>>("search", "Hits of a search", &["search"]),
    document::<Vec<Each<PromptView>>>("sent-each", "Prompts or failures", &["send"]),
    document::<ListenAddress>("serve", "The addresses of a server", &["serve"]),
    document::<ServeUnitView>("serve-unit", "A systemd unit of a server", &["serve --install", "serve --uninstall"]),
    document::<SessionView>(
        "session",
        "A session",
        &[
            "session upsert", "session heartbeat", "session end", "session forget", "session nudge", "answer",
            "session interrupt", "session park", "session unpark", "session stop", "session meta set",
            "session meta rm",
        ],
    ),
    document::<SessionDetailView>("session-detail", "A session and the way to it", &["session show"]),
    document::<Vec<Each<SessionView>>>(
        "session-each",
        "Sessions or failures",
        &["session stop ID ID", "session stop --all", "send --keystrokes"],
    ),
    document::<Vec<SessionOverviewView>>("session-list", "Sessions", &["session list"]),
    document::<SessionMetaView>("session-meta", "A stored value of a session", &["session meta get"]),
    document::<SessionOverviewView>("session-overview", "A session as in a list", &["session status"]),
    document::<SetupView>("setup", "The steps of a setup", &["setup"]),
    document::<SidecarView>("sidecar", "The end of a sidecar", &["sidecar"]),
    document::<SkillView>("skill", "The skill for agents", &["skill"]),
    document::<Vec<SnapshotView>>("snapshot-list", "Snapshots of the store", &["restore --list"]),
    document::<StartPlanView>("start-plan", "A start that was not done", &["start --dry-run"]),
    document::<Vec<StartPlanView>>("start-plan-list", "Starts that were not done", &["start --dry-run TASK TASK"]),
    document::<StartedView>("started", "A session that was started for a task", &["start"]),
    document::<Vec<Each<StartedView>>>("started-each", "Started sessions or failures", &["start TASK TASK"]),
    document::<StoreView>("store", "The store: its place, engine, versions and size", &["store show"]),
    document::<StoreCopyView>("store-copy", "A store that was moved", &["store copy"]),
    document::<StoreMigrationView>("store-migration", "The version of the store's schema", &["store migrate"]),
    document::<StoreRestoredView>(
        "store-restored",
        "A store after an older state of it was put back",
        &["store restored"],
    ),
    document::<TaskView>(
        "task",
        "A task",
        &[
            "task add", "task edit", "task dep add", "task dep rm", "task block", "task unblock", "task submit",
            "task resume", "task cancel", "task reopen", "task undo", "release TASK", "task release TASK",
        ],
    )
    .in_lines(&["task export --format jsonl"]),
    document::<TaskDetailView>("task-detail", "A task with its history", &["task show"]),
    document::<Vec<Each<TaskView>>>(
        "task-each",
        "Tasks or failures",
        &["task edit TASK TASK", "task cancel TASK TASK"],
    ),
    document::<Vec<TaskView>>("task-list", "Tasks", &["task list", "task export", "ready"]),
    document::<RemovedTasksView>("tasks-removed", "Tasks that were removed", &["task rm"]),
    document::<Vec<TriedAgentView>>("tried-agents", "Structured agents, and whether they ask", &["doctor agents"]),
    document::<TrustView>("trust", "The trust of a configuration", &["trust", "config edit"]),
    document::<UsageView>("usage", "Usage, added up", &["usage"]),
    document::<WorkEventView>("work-event", "An event of the work", &[]).in_lines(&["work"]),
];
