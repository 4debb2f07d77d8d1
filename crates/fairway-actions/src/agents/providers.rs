//! The providers that are built in or configured, with the programs that are there.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::permission_canary;
use fairway_core::config::{Project, Settings, built_in_profiles, load_in_force};
use fairway_core::domain::rules::command_line::{LeadingWord, leading_word};
use fairway_core::env::{Env, vars};
use fairway_core::os::{executable, packages};
use fairway_core::wire::{ProviderProgramView, ProviderView};

/// Lists the built-in providers and, in a project, those that its configuration adds. Runs no program.
///
/// # Errors
/// A broken configuration, or a `root` that holds no project.
pub fn list(env: &Env, root: Option<&Path>) -> Result<Vec<ProviderView>> {
    let settings = match Project::discover(env, root) {
        Err(error) if root.is_some() => return Err(error.into()),
        Err(_) => Settings::default(),
        Ok(project) => load_in_force(&project, env)?.1,
    };
    let built_in = built_in_profiles();
    let names: BTreeSet<&String> = built_in.keys().chain(settings.providers.keys()).collect();
    Ok(names.into_iter().map(|name| view(env, &settings, name, built_in.contains_key(name))).collect())
}

fn view(env: &Env, settings: &Settings, name: &str, is_built_in: bool) -> ProviderView {
    let entry = settings.provider(name);
    let acp = entry.profile.acp.as_ref();
    let structured = acp.and_then(|acp| {
        let words = acp.command.as_ref().filter(|words| !words.is_empty())?;
        let program = words.first().map(String::as_str);
        Some(program_view(env, shell_words::join(words), program, acp.facts.proven_with.clone()))
    });
    let command = entry.program.command.clone().unwrap_or_else(|| name.to_owned());
    let leading = leading_word(&command);
    let program = if let LeadingWord::Program(name) = &leading { Some(name.as_str()) } else { None };
    ProviderView {
        name: name.to_owned(),
        source: if is_built_in { "built_in" } else { "configured" },
        terminal: program_view(env, command.clone(), program, entry.profile.facts.proven_with.clone()),
        structured,
        proof: permission_canary::proof(env, settings, name).as_ref().map(permission_canary::view),
        unproven: acp.and_then(|acp| acp.facts.unproven.clone()),
        switches: acp.and_then(|acp| acp.facts.switches),
        asking_mode: acp.and_then(|acp| acp.mode.clone()),
    }
}

fn program_view(env: &Env, command: String, program: Option<&str>, proven_with: Option<String>) -> ProviderProgramView {
    let path = env.var_os(vars::PATH).map(std::ffi::OsString::as_os_str);
    let found = program.map(|program| executable::find(program, path, &env.cwd));
    ProviderProgramView {
        command,
        installed: found.as_ref().map(Option::is_some),
        version: found.flatten().and_then(|file| packages::recorded_version(&file)),
        proven_with,
    }
}
