//! The JSON that Fairway prints: one view per noun, the same in every command. Names are stable. Absent values are `null`;
//! lists are never `null`.

mod accepted_handoff;
mod adapter_check;
mod agent_proof;
mod approval;
mod board;
mod checkpoint;
mod claim;
mod config;
mod dependency_tree;
mod device;
mod error;
mod event;
mod evidence;
pub mod exec_request;
mod explain;
mod finding;
mod guard;
mod hook;
mod host;
pub mod import;
pub mod integer;
mod job;
mod job_upkeep;
mod landing;
mod lane;
mod launch;
mod message;
mod notify;
mod outbox;
mod overlap;
mod project;
mod prompt;
mod provider;
mod provider_event;
mod reconcile;
mod review;
mod review_card;
mod review_comment;
mod runtime;
mod sandbox;
mod search;
mod serve_unit;
mod session;
mod session_overview;
mod setup;
mod sidecar;
mod snapshot;
mod store;
mod task;
pub mod telemetry;
pub mod terminal_input;
mod text;
pub mod timestamp;
pub mod tool_input;
mod usage;
mod values;

pub use accepted_handoff::{AcceptedHandoffView, HandedWorkView};
pub use adapter_check::{AdapterCheckView, OperationCheckView, ProbeOutcome, ProbeView};
pub use agent_proof::{AgentProofView, TriedAgentView};
pub use approval::ApprovalView;
pub use board::{
    BoardCountsView, BoardDiffstatView, BoardJobView, BoardJobsView, BoardLaneView, BoardOverlapView, BoardView,
    NeedView,
};
pub use checkpoint::CheckpointResultView;
pub use claim::{ClaimedView, ReleasedView, RemovedTasksView};
pub use config::{ConfigCheckView, SettingView};
pub use dependency_tree::{DepNodeView, DepTreeView};
pub use device::{DevicePairView, DeviceRevokedView, DeviceView};
pub use error::{ErrorDocument, FailedIdView, Failure, FailureKind};
pub use event::EventView;
pub use evidence::{EvidenceDetailView, EvidenceOutputView};
pub use explain::{ExplainView, FactView};
pub use finding::{DoctorView, FindingView};
pub use guard::{EvaluationView, GuardResultView, LoggedDecisionView, RuleTraceView};
pub use hook::HookChangeView;
pub use host::{HostRenewedView, HostRetiredView, HostView, RetiredLaneView};
pub use job::{
    ForegroundView, JobItemView, JobKillView, JobLogView, JobPollView, JobSpawnView, JobView, SendKeysView,
    short_job_id,
};
pub use job_upkeep::{JobGcView, JobWorkerView, RemovedJobsView, SettledJobView};
pub use landing::{
    FlakyCheckView, LandCheckView, LandNowView, LandOrderView, LandPauseView, LandPausedView, LandQueueView,
    LandToldView, LandView, LandingView,
};
pub use lane::{
    FileDiffView, KeptLaneView, LaneDetailView, LaneDiffView, LaneGitView, LanePruneView, LaneSyncView, LaneView,
    PrunedLaneView,
};
pub use launch::{BackendView, FirstPromptView, LaunchView, LaunchedView, RelaunchedView, StartPlanView, StartedView};
pub use message::MessageView;
pub use notify::{NotificationActionView, NotificationView, NotifyStateView, ReceiptView, SentView, SinkView};
pub use outbox::OutboxView;
pub use overlap::{OverlapFileView, OverlapLaneView, OverlapPairView, OverlapView};
pub use project::{BackupView, InitView, MissingEventsView, RestoreView, TrustView, TrustedSettingView};
pub use prompt::PromptView;
pub use provider::{ProviderProgramView, ProviderView};
pub use provider_event::ProviderEventView;
pub use reconcile::{ReconcileEntryView, ReconcileView, RecoveredJobView};
pub use review::ReviewView;
pub use review_card::{
    ConsequenceView, OtherSubmittedView, ReviewCardView, ReviewChangesView, ReviewCommitView, ReviewNextView,
};
pub use review_comment::ReviewCommentView;
pub use runtime::{ContextView, HealthView, HeartbeatView, LifecycleView, SectionView, TelemetryView};
pub use sandbox::{
    SandboxCall, SandboxCheckView, SandboxNeedView, SandboxPathView, SandboxProbeView, SandboxReply, SandboxView,
};
pub use search::SearchHitView;
pub use serve_unit::ServeUnitView;
pub use session::SessionView;
pub use session_overview::{
    AliveView, ClaimantView, CommandView, DoingView, HeldTaskView, ProtocolView, SessionDetailView,
    SessionOverviewView, ShownState,
};
pub use setup::{SetupStepView, SetupView};
pub use sidecar::SidecarView;
pub use snapshot::SnapshotView;
#[cfg(any(feature = "postgres", test))]
pub use store::StoreCopyView;
pub use store::{StoreMigrationView, StoreRestoredView, StoreView};
pub use task::{CheckView, ClaimView, DependentView, TaskDetailView, TaskView, TimelineEntryView};
pub use text::{
    CompletionsView, ConfigExampleView, DemoView, GuideTopicView, GuideView, HelpView, InstalledScriptsView,
    ManPageView, ManPagesView, SessionMetaView, SkillView,
};
pub use usage::{TaskMediansView, TaskNumbersView, UsageRowView, UsageView};
