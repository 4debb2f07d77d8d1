//! A launch in the backend `acp`: the agent's program for the Agent Client Protocol, and how its session begins.

use std::collections::BTreeMap;

use super::{
    program::{self, CommandSpec},
    request::LaunchRequest,
};
use crate::{
    actions::App,
    adapters::{ResolvedBackend, StructuredStart, builtin_scripts},
    config::{AcpProfile, LaunchSettings, Unguarded},
    domain::{Refusal, id::Label, rules::initial_prompt::Program},
};

/// How long the first requests to an agent may take.
pub(super) use crate::acp::state_machine::SETUP_TIMEOUT;

/// A launch in the backend `acp`.
pub(super) struct StructuredLaunch {
    pub program: Program,
    pub start: StructuredStart,
    /// The environment below that of the provider.
    pub env: BTreeMap<String, String>,
}

/// Whether a backend is that of structured sessions.
pub(super) fn is_structured(located: &ResolvedBackend) -> bool {
    located.built_in.is_some_and(|built_in| built_in.name == builtin_scripts::STRUCTURED)
}

/// The program and the beginning of a structured session. `None` for any other backend.
///
/// # Errors
/// `usage` when nothing says how the provider speaks the protocol.
pub(super) fn plan(
    app: &App,
    request: &LaunchRequest,
    located: &ResolvedBackend,
    provider: &Label,
    entry: &LaunchSettings,
) -> Result<Option<StructuredLaunch>, Refusal> {
    if !is_structured(located) {
        return Ok(None);
    }
    let AcpProfile { command, env, mode, .. } = entry.profile.acp.clone().unwrap_or_default();
    let command = match (&request.command, command.filter(|words| !words.is_empty())) {
        (Some(_), _) => None,
        (None, Some(words)) => Some(CommandSpec::Argv(words)),
        (None, None) => return Err(Refusal::NoStructuredProgram { provider: provider.to_string() }),
    };
    let command = request.command.as_ref().or(command.as_ref());
    let start = StructuredStart {
        mode,
        resume: request.resume.clone(),
        refuse_unguarded: app.settings.agents.unguarded == Unguarded::Refuse,
    };
    let program = program::choose(app, command, None, provider);
    Ok(Some(StructuredLaunch { program, start, env: env.unwrap_or_default() }))
}
