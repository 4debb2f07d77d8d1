//! What a canary has shown of a structured agent, as a document.

use serde::Serialize;

/// What a canary has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentProofView {
    /// Whether the agent has asked before it ran a tool.
    pub proven: bool,
    /// Why that is not proven.
    pub reason: Option<String>,
    /// The name and version that the agent gives itself.
    pub agent: Option<String>,
    /// The mode in which it was tried.
    pub mode: Option<String>,
    /// When it was tried.
    pub at: String,
}

/// An agent that can be tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TriedAgentView {
    /// The provider.
    pub provider: String,
    /// The command as shell text.
    pub command: String,
    /// The version that the files around the program record.
    pub version: Option<String>,
    /// The mode in which the profile says that it asks.
    pub mode: Option<String>,
    /// Whether this call tried it, or would try it.
    pub tried: bool,
    /// The newest result; `null` when it was never tried.
    pub proof: Option<AgentProofView>,
}
