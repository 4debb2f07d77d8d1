//! A provider as a document: how its agent runs in a terminal, and without one.

use serde::Serialize;

use super::AgentProofView;

/// A provider that is built in or configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// Whether a conversation was seen to go on in the agent's terminal and back; `null` when that was not tried.
    pub switches: Option<bool>,
    /// What `fairway doctor agents` has shown of the installed version on this host; `null` when it was not tried.
    pub proof: Option<AgentProofView>,
}

/// A program of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
