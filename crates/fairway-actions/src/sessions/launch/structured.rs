//! A launch in the backend `acp`: the agent's program for the Agent Client Protocol, and the beginning of its session.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::program::{self, CommandSpec};
use super::request::LaunchRequest;
use crate::App;
use fairway_core::adapters::{ResolvedBackend, StructuredStart, builtin_scripts};
use fairway_core::config::{AcpProfile, AgentProof, AgentSetup, ProviderSettings, Unguarded};
use fairway_core::domain::Refusal;
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::initial_prompt::Program;
use fairway_core::env::vars;

/// How long the first requests to an agent may take.
pub(super) use fairway_core::acp::state_machine::SETUP_TIMEOUT;

/// A launch in the backend `acp`.
pub(super) struct StructuredLaunch {
    pub program: Program,
    pub start: StructuredStart,
    /// The profile's variables, which the provider's configuration overrides.
    pub env: BTreeMap<String, String>,
}

impl StructuredLaunch {
    /// Adds the name and version of the agent, when a test run (canary) has proven that this program, in this environment, asks
    /// before it runs tools.
    pub(super) fn with_proof(
        mut self,
        app: &App,
        provider: &Label,
        requested: &BTreeMap<String, String>,
        worktree: &Path,
    ) -> Self {
        let own = self.env.keys().filter_map(|name| Some((name.clone(), requested.get(name)?.clone()))).collect();
        let path = requested.get(vars::PATH).map(OsString::from).or_else(|| app.env.var_os(vars::PATH).cloned());
        let mode = self.start.mode.as_deref();
        let command = self.program.argv.as_deref().unwrap_or_default();
        let (setup, _) = AgentSetup::new(provider.as_str(), command, mode, own, (path.as_deref(), worktree));
        self.start.proven_agent = setup.proof(&app.env).filter(AgentProof::is_proof).and_then(|proof| proof.agent);
        self
    }
}

/// Whether the backend is `acp`, which runs sessions without a terminal.
pub(super) fn is_structured(located: &ResolvedBackend) -> bool {
    located.built_in.is_some_and(|built_in| built_in.name == builtin_scripts::STRUCTURED)
}

/// Plans the program and the first requests of a structured session. `None` for any other backend.
///
/// # Errors
/// `usage` when neither the profile nor the request has a program that speaks the protocol.
pub(super) fn plan(
    app: &App,
    request: &LaunchRequest,
    located: &ResolvedBackend,
    provider: &Label,
    entry: &ProviderSettings,
) -> Result<Option<StructuredLaunch>, Refusal> {
    if !is_structured(located) {
        return Ok(None);
    }
    let AcpProfile { command, mode, usage, facts } = entry.profile.acp.clone().unwrap_or_default();
    let command = match (&request.command, command.filter(|words| !words.is_empty())) {
        (Some(_), _) => None,
        (None, Some(words)) => Some(CommandSpec::Argv(words)),
        (None, None) => return Err(Refusal::NoStructuredProgram { provider: provider.to_string() }),
    };
    let command = request.command.as_ref().or(command.as_ref());
    let start = StructuredStart {
        mode,
        resume: request.resume.clone(),
        proven_agent: None,
        refuse_unguarded: app.settings.agents.unguarded == Unguarded::Refuse,
        asks_for_all: facts.asks_for_all == Some(true),
        usage: usage.map(|usage| usage.to_string()),
    };
    let program = program::choose(app, command, None, provider);
    // All of it may decide whether the agent asks, so that a proof holds for this environment.
    let mut env = facts.env.unwrap_or_default();
    env.extend(entry.program.env.clone());
    Ok(Some(StructuredLaunch { program, start, env }))
}
