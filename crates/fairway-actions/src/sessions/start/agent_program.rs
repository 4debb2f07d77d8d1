//! The agent and the backend of a start that does not name them.

use std::ffi::OsString;

use crate::App;
use fairway_core::config::{RoleSettings, SessionMode, built_in_profiles};
use fairway_core::domain::Refusal;
use fairway_core::domain::id::Label;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::rules::command_line::{LeadingWord, leading_word};
use fairway_core::env::vars;
use fairway_core::os::executable;

use super::StartRequest;

/// The backend in which a person can look at an agent, and the name of its program.
const TERMINAL_BACKEND: &str = "tmux";

/// The configuration key of the project's backend.
const BACKEND_KEY: &str = "sessions.default_backend";

/// The provider to launch: the requested one, else the only agent that is installed. `None` when none is requested and the
/// command, the role or the lane decides.
///
/// # Errors
/// `not_found` when none is installed; `usage` when several are.
pub(super) fn provider(
    app: &App,
    request: &StartRequest,
    role: &RoleSettings,
    lane: &Lane,
) -> Result<Option<Label>, Refusal> {
    let is_decided =
        request.command.is_some() || role.provider.is_some() || role.command.is_some() || lane.provider.is_some();
    if request.provider.is_some() || is_decided {
        return Ok(request.provider.clone());
    }
    let is_structured = request.structured;
    let found = if is_structured {
        providers_with(app, is_structured, is_installed_structured)
    } else {
        installed_providers(app)
    };
    match found.as_slice() {
        [] => Err(Refusal::NoAgentProgram { names: known_providers(app, is_structured) }),
        [one] => Ok(Some(Label::parse(one)?)),
        several => Err(Refusal::SeveralAgentPrograms { names: several.to_vec() }),
    }
}

/// The providers whose program for use in a terminal is installed, sorted by name.
pub fn installed_providers(app: &App) -> Vec<String> {
    providers_with(app, false, is_installed)
}

fn providers_with(app: &App, is_structured: bool, is_there: fn(&App, &str) -> bool) -> Vec<String> {
    known_providers(app, is_structured).into_iter().filter(|name| is_there(app, name)).collect()
}

/// The providers with a profile or a section of their own, by name. A profile that cannot deliver a prompt is for structured
/// sessions only.
fn known_providers(app: &App, is_structured: bool) -> Vec<String> {
    let built_in = built_in_profiles().into_iter();
    let built_in = built_in.filter(|(_, profile)| is_structured || profile.facts.prompt_args.is_some());
    let mut known: Vec<String> = built_in.map(|(name, _)| name).chain(app.settings.providers.keys().cloned()).collect();
    known.sort();
    known.dedup();
    known
}

/// Whether a provider's program is installed. Shell text whose program cannot be determined counts as installed.
fn is_installed(app: &App, provider: &str) -> bool {
    let configured = app.settings.providers.get(provider).and_then(|entry| entry.program.command.as_deref());
    match configured.map(leading_word) {
        Some(LeadingWord::Unresolved) => true,
        Some(LeadingWord::Program(name)) => is_in_path(app, &name),
        None => is_in_path(app, provider),
    }
}

/// Whether the program by which a provider speaks the Agent Client Protocol is installed.
fn is_installed_structured(app: &App, provider: &str) -> bool {
    let command = app.settings.provider(provider).profile.acp.and_then(|acp| acp.command);
    command.is_some_and(|words| words.first().is_some_and(|program| is_in_path(app, program)))
}

fn is_in_path(app: &App, program: &str) -> bool {
    let path = app.env.var_os(vars::PATH).map(OsString::as_os_str);
    executable::find(program, path, &app.project.root).is_some()
}

/// The backend to launch in: the requested one, else tmux if it is installed. `None` when none is requested and the role, the
/// lane, the configuration or the choice of a structured session decides, and when tmux is not installed.
pub(super) fn backend(
    app: &App,
    request: &StartRequest,
    role: &RoleSettings,
    lane: &Lane,
    provider: Option<&Label>,
) -> Option<String> {
    let provider = provider.or(role.provider.as_ref()).or(lane.provider.as_ref());
    let mode = provider.and_then(|provider| app.settings.provider(provider.as_str()).mode);
    let is_structured = request.structured || mode == Some(SessionMode::Structured);
    let is_decided =
        is_structured || role.backend.is_some() || lane.backend.is_some() || app.layers.is_set(BACKEND_KEY);
    if request.backend.is_some() || is_decided {
        return request.backend.clone();
    }
    is_in_path(app, TERMINAL_BACKEND).then(|| TERMINAL_BACKEND.to_owned())
}
