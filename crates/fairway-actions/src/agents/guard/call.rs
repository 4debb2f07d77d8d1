//! A tool call, the entry point it came through, and the decision about it.

use std::path::PathBuf;

use serde_json::{Map, Value};

/// A tool call, as an entry point receives it.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub tool: String,
    /// Provider-neutral names of the tool.
    pub aliases: Vec<String>,
    pub input: Value,
    pub cwd: Option<PathBuf>,
    /// The role that the caller claims to have.
    pub role: Option<String>,
    /// Whether the call runs this very Fairway program, which the caller's shell finds under the name `fairway`.
    pub runs_own_program: bool,
    /// The subject of the call in the caller's words, such as `rig` and `bead_id`. It is kept in the log and decides nothing.
    pub context: Map<String, Value>,
}

impl ToolCall {
    /// A call without aliases, without a claimed role and without context, in an unknown directory.
    pub fn new(tool: impl Into<String>, input: Value) -> Self {
        Self {
            tool: tool.into(),
            aliases: Vec::new(),
            input,
            cwd: None,
            role: None,
            runs_own_program: false,
            context: Map::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardDecision {
    pub allowed: bool,
    /// Whether an allow rule matched, so that the provider need not ask a person.
    pub explicitly_allowed: bool,
    pub reason: String,
    /// The rule that decided; `None` for a decision without one.
    pub rule: Option<String>,
}

impl GuardDecision {
    pub fn denied(reason: impl Into<String>) -> Self {
        Self { allowed: false, explicitly_allowed: false, reason: reason.into(), rule: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPoint {
    /// A provider's hook, or the question of an agent by its protocol.
    Hook,
    Api,
    Cli,
}

impl EntryPoint {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Api => "api",
            Self::Cli => "cli",
        }
    }
}
