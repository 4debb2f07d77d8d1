//! Structured sessions: how an agent is started that speaks the Agent Client Protocol, and what becomes of one without a guard.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::values::{self, impl_word};
use crate::domain::string_enum::string_enum;

/// An agent that speaks the Agent Client Protocol: a section `[providers.NAME.acp]`. A key that is `None` is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AcpProfile {
    /// The program and its arguments.
    pub command: Option<Vec<String>>,
    /// Environment variables below those of the provider.
    pub env: Option<BTreeMap<String, String>>,
    /// The mode in which the agent asks before it runs a tool.
    pub mode: Option<String>,
    /// Whether a conversation was seen to go on in the agent's terminal and back; `false` when it was seen to fail.
    pub switches: Option<bool>,
    /// The version with which the mode was seen to ask.
    pub proven_with: Option<String>,
}

impl AcpProfile {
    /// Each key from this profile, else from `below`.
    #[must_use]
    pub fn with_fallback(self, below: Self) -> Self {
        Self {
            command: self.command.or(below.command),
            env: self.env.or(below.env),
            mode: self.mode.or(below.mode),
            switches: self.switches.or(below.switches),
            proven_with: self.proven_with.or(below.proven_with),
        }
    }
}

string_enum! {
    /// How a provider's sessions run when a launch names no backend.
    SessionMode { Terminal => "terminal", Structured => "structured" }
}

string_enum! {
    /// What becomes of a structured session whose agent is not in the mode in which it asks.
    #[derive(Default)]
    Unguarded { #[default] Show => "show", Refuse => "refuse" }
}

impl_word!(SessionMode, Unguarded);

/// The settings of agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    /// What becomes of a session without a guard.
    #[serde(deserialize_with = "values::word")]
    pub unguarded: Unguarded,
}
