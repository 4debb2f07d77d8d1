//! The JSON that leaves the house: one view per noun, the same wherever it appears. Names are stable; absent values are
//! `null`, lists are never `null`.

mod adapter_check;
mod approval;
mod checkpoint;
mod config;
mod dependency_tree;
mod error;
mod event;
mod evidence;
pub mod exec_request;
mod explain;
mod finding;
mod gate;
mod guard;
mod handoff;
mod hook;
pub mod import;
mod job;
mod lane;
mod launch;
mod message;
mod outbox;
mod prompt;
mod provider_event;
mod reconcile;
mod review;
mod runtime;
mod session;
mod sidecar;
mod task;
pub mod telemetry;
pub mod terminal_input;
pub mod timestamp;
pub mod tool_input;
mod usage;

pub use adapter_check::{AdapterCheckView, OperationCheckView, ProbeOutcome, ProbeView};
pub use approval::ApprovalView;
pub use checkpoint::{CheckpointResultView, CheckpointView};
pub use config::{ConfigCheckView, SettingView};
pub use dependency_tree::{DepNodeView, DepTreeView};
pub use error::{ErrorDocument, Failure, FailureKind};
pub use event::EventView;
pub use evidence::EvidenceView;
pub use explain::{ExplainView, FactView};
pub use finding::{DoctorView, FindingView};
pub use gate::{BlockerView, GateReportView};
pub use guard::{EvaluationView, GuardResultView, LoggedDecisionView, RuleTraceView};
pub use handoff::HandoffView;
pub use hook::HookChangeView;
pub use job::{ForegroundView, JobItemView, JobKillView, JobLogView, JobPollView, JobSpawnView, JobView, SendKeysView};
pub use lane::{LaneDetailView, LaneView};
pub use launch::{BackendView, LaunchView};
pub use message::MessageView;
pub use outbox::OutboxView;
pub use prompt::PromptView;
pub use provider_event::ProviderEventView;
pub use reconcile::{ReconcileEntryView, ReconcileView, RecoveredJobView};
pub use review::ReviewView;
pub use runtime::{ContextView, HealthView, HeartbeatView, LifecycleView, SectionView, TelemetryView};
pub use session::SessionView;
pub use sidecar::SidecarView;
pub use task::{CheckView, ClaimView, TaskView, WaitingView};
pub use usage::{UsageRowView, UsageView};

use crate::env::Timestamp;

/// A time as text, when there is one.
fn time(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.to_string())
}

/// The text of ids.
fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}
