//! Providers as documents: their agents, the proof that an agent asks, and the effects of an event.

use serde::Serialize;

use super::SessionView;
use crate::domain::checkpoint::Checkpoint;
use crate::domain::evidence::Evidence;
use crate::domain::handoff::Handoff;
use crate::domain::provider_event::ProviderState;

/// A provider that is built in or configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProviderView {
    /// Its name.
    pub name: String,
    /// `built_in`, or `configured` by the project alone.
    pub source: &'static str,
    /// The program for a session in a terminal.
    pub terminal: ProviderProgramView,
    /// The program for a structured session; `null` when nothing says how it speaks the Agent Client Protocol.
    pub structured: Option<ProviderProgramView>,
    /// The mode in which a structured session asks before it runs a tool; `null` when none is known: it is not guarded.
    pub asking_mode: Option<String>,
    /// Why no version of it is proven to ask, or what would prove it.
    pub unproven: Option<String>,
    /// Whether a conversation was seen to go on in the agent's terminal and back; `null` when that was not tried.
    pub switches: Option<bool>,
    /// What `fairway doctor agents` has shown of the installed version on this host; `null` when it was not tried.
    pub proof: Option<AgentProofView>,
}

/// A program of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProviderProgramView {
    /// The command as shell text.
    pub command: String,
    /// Whether the program is there; `null` for shell text that names none.
    pub installed: Option<bool>,
    /// The version that the files around the program record.
    pub version: Option<String>,
    /// The version with which Fairway was tried; `null` for an unproven agent.
    pub proven_with: Option<String>,
}

/// What a canary has shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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

/// The answer to `session event`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProviderEventView {
    /// The state that was reported, in our spelling.
    pub state: ProviderState,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Whether the session is a new one.
    pub created: bool,
    /// The session, as it is now, or would be.
    pub session: SessionView,
    /// The checkpoint that was recorded; a dry run records none.
    pub checkpoint: Option<Checkpoint>,
    /// The evidence that was recorded, likewise.
    pub evidence: Option<Evidence>,
    /// The handoff that was made, likewise.
    pub handoff: Option<Handoff>,
    /// The effects, done or only planned, in words.
    pub effects: Vec<String>,
}
