//! What runtimes report, and what that comes to, as documents.

use serde::Serialize;

/// What a lifecycle report came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LifecycleView {
    /// The session.
    pub session_id: String,
    /// Its run.
    pub run_id: String,
    /// What was reported.
    pub event: &'static str,
    /// Whether it changed how the session stands, or confirmed it; not so when it was older than what is known.
    pub applied: bool,
    /// Whether the session was made known by it.
    pub created: bool,
    /// Whether the session lives, now.
    pub status: &'static str,
    /// What it does, now.
    pub activity: &'static str,
    /// When it became final.
    pub ended_at: Option<String>,
    /// Its program's exit code.
    pub exit_code: Option<i64>,
}

/// How a session's runtime fares.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HealthView {
    /// healthy, degraded or unhealthy.
    pub status: &'static str,
    /// Its run.
    pub run_id: String,
    /// How long it has run, or did until it ended.
    pub uptime_seconds: u64,
    /// What it does.
    pub current_state: &'static str,
    /// Its last heartbeat.
    pub last_activity: String,
    /// How full its context is, 0 to 1.
    pub context_usage: Option<f64>,
    /// What is wrong, where that is known.
    pub error: Option<String>,
}

/// What a heartbeat came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeartbeatView {
    /// How the runtime fares, now.
    #[serde(flatten)]
    pub health: HealthView,
    /// Whether its session was told to hand over, since its context is nearly full.
    pub pressed: bool,
}

/// What a report of turns came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
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
pub struct SectionView {
    /// role, work, mail, checkpoint or directive.
    pub r#type: &'static str,
    /// The text.
    pub content: String,
}

/// What an agent needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextView {
    /// full, compact or resume.
    pub mode: &'static str,
    /// Its parts.
    pub sections: Vec<SectionView>,
    /// All of it as one text.
    pub text: String,
}
