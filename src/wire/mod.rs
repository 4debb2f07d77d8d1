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
pub mod tool_input;
mod usage;

pub use adapter_check::{CheckedAdapterView, CheckedOperationView, ProbeView, Verdict};
pub use approval::ApprovalView;
pub use checkpoint::{CheckpointTurnView, CheckpointView};
pub use config::{CheckedView, SettingView};
pub use dependency_tree::{DepNodeView, DepTreeView};
pub use error::{ErrorDocument, Failure, FailureKind};
pub use event::EventView;
pub use evidence::EvidenceView;
pub use explain::{ExplainView, FactView};
pub use finding::{DoctorView, FindingView};
pub use gate::{BlockerView, GateReportView};
pub use guard::{DecisionView, JudgementView, LookView, VerdictView};
pub use handoff::HandoffView;
pub use hook::HookChangeView;
pub use job::{KilledView, LoggedView, PolledView, RanView, RunItemView, RunView, SentView, SpawnedView};
pub use lane::{LanePresentView, LaneView};
pub use launch::{BackendView, LaunchView};
pub use message::MessageView;
pub use outbox::OutboxView;
pub use prompt::PromptView;
pub use provider_event::ProviderEventView;
pub use reconcile::{NoteView, ReconcileView, RunNoteView};
pub use review::ReviewView;
pub use runtime::{ContextView, CountsView, HealthView, HeardView, LifecycleView, SectionView};
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
