//! A tool call, the entry point it came through, and the decision about it.

use std::path::PathBuf;

use serde_json::Value;

/// A tool call, as a door brings it.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The tool's own name.
    pub tool: String,
    /// Neutral names that the door knows for it.
    pub aliases: Vec<String>,
    /// What it is called with.
    pub input: Value,
    /// The directory that it is made from.
    pub cwd: Option<PathBuf>,
    /// The role that the caller says it has.
    pub role: Option<String>,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardDecision {
    /// Whether it may be made.
    pub allowed: bool,
    /// Whether a rule allows it by name: it may answer for the person.
    pub explicitly_allowed: bool,
    /// Why.
    pub reason: String,
    /// The rule that decided.
    pub rule: Option<String>,
}

impl GuardDecision {
    /// A no.
    #[must_use]
    pub fn denied(reason: impl Into<String>) -> Self {
        Self { allowed: false, explicitly_allowed: false, reason: reason.into(), rule: None }
    }
}

/// Where a call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPoint {
    /// A provider's hook.
    Hook,
    /// The worker API.
    Api,
    /// The command line.
    Cli,
}

impl EntryPoint {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Api => "api",
            Self::Cli => "cli",
        }
    }
}
