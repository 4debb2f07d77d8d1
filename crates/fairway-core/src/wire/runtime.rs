//! The reports of runtimes and their effects as documents.

use crate::domain::lifecycle::LifecycleEvent;
use crate::domain::rules::runtime_health::HealthStatus;
use crate::domain::session::{Activity, SessionStatus};
use serde::Serialize;

/// The effect of a lifecycle report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LifecycleView {
    /// The session.
    pub session_id: String,
    /// Its run.
    pub run_id: String,
    /// The reported event.
    pub event: LifecycleEvent,
    /// Whether it changed how the session stands, or confirmed it; not so when it was older than what is known.
    pub applied: bool,
    /// Whether the session was made known by it.
    pub created: bool,
    /// Whether the session lives, now.
    pub status: SessionStatus,
    /// The activity now.
    pub activity: Activity,
    /// When it became final.
    pub ended_at: Option<String>,
    /// Its program's exit code.
    pub exit_code: Option<i64>,
}

/// How a session's runtime fares.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HealthView {
    /// healthy, degraded or unhealthy.
    pub status: HealthStatus,
    /// Its run.
    pub run_id: String,
    /// How long it has run, or did until it ended.
    pub uptime_seconds: u64,
    /// The activity.
    pub current_state: Activity,
    /// Its last heartbeat.
    pub last_activity: String,
    /// How full its context is, 0 to 1.
    pub context_usage: Option<f64>,
    /// The error, where it is known.
    pub error: Option<String>,
}

/// The effect of a heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HeartbeatView {
    /// How the runtime fares, now.
    #[serde(flatten)]
    pub health: HealthView,
    /// Whether its session was told to hand over, since its context is nearly full.
    pub pressed: bool,
}

/// The effect of a report of turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TelemetryView {
    /// Turns that are new.
    pub turns: usize,
    /// Turns that were known.
    pub turns_known: usize,
    /// Calls of tools that are new.
    pub tools: usize,
    /// Calls of tools that were known.
    pub tools_known: usize,
}

/// A part of what an agent needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SectionView {
    /// role, work, mail, checkpoint or directive.
    pub r#type: &'static str,
    /// The text.
    pub content: String,
}

/// The context of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ContextView {
    /// full, compact or resume.
    pub mode: &'static str,
    /// Its parts.
    pub sections: Vec<SectionView>,
    /// All of it as one text.
    pub text: String,
}
