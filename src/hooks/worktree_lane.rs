//! The worktrees that a provider's program wants for its subagents: each is a lane's.

use std::io::{self, Write as _};

use super::call::{self, HookCall, message_with_hint};
use super::payload::Payload;
use fairway_actions::queue::lane::of_agent;
use fairway_core::config::Project;
use fairway_core::env::Env;

/// Whether a call is about a worktree.
pub(super) fn is_meant(call: &HookCall<'_>) -> bool {
    call.provider.worktree_events.iter().any(|known| known.name == call.event)
}

/// Makes a worktree and prints its path, or removes one.
///
/// # Errors
/// A sentence, after which the provider has no worktree, or keeps it.
pub(super) fn answer(call: &HookCall<'_>, env: Env, project: Option<Project>, payload: &Payload) -> Result<(), String> {
    payload.check_event(call.event)?;
    let project = project.ok_or("there is no project here, whose lane the worktree would be")?;
    let app = call::build_app(env, project).map_err(|error| message_with_hint(&error))?;
    if call.provider.worktree_events.first().is_some_and(|make| make.name == call.event) {
        let name = Payload::require("name", payload.name.as_ref())?;
        let dir = of_agent::make(&app, name).map_err(|error| message_with_hint(&error))?;
        let mut out = io::stdout().lock();
        return writeln!(out, "{}", dir.display()).map_err(|error| format!("cannot write the path: {error}"));
    }
    let dir = Payload::require("worktree_path", payload.worktree_path.as_ref())?;
    of_agent::remove(&app, dir).map_err(|error| message_with_hint(&error))
}
