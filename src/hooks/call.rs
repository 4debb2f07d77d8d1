//! Shared steps of all hook calls: reading stdin, finding the project, describing the caller, and formatting a failure.

use std::{
    io::{self, Read},
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
};

use super::{Provider, context, payload::Payload};
use crate::{
    actions::{agents::hook::HookCaller, core::errors},
    config::{ConfigError, Project, project::missing_config},
    domain::{id::Label, secrets},
    env::{Env, vars},
    render,
};

/// How many bytes are read from stdin.
const MAX_STDIN_BYTES: u64 = 8 << 20;
/// How many characters of a reason are printed.
const MAX_REASON_CHARS: usize = 1_000;

#[derive(Debug)]
pub struct HookCall<'a> {
    /// The calling provider.
    pub provider: Provider,
    /// The event's name from the command line.
    pub event: &'a str,
    /// The project's root from `--root`.
    pub root: Option<&'a Path>,
    /// Whether the launch brought this entry, and not the provider's other settings.
    pub by_launch: bool,
}

/// Calls `work`; a panic becomes an error, and prints nothing.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    panic::set_hook(Box::new(|_| {}));
    panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err("internal error: the hook stopped unexpectedly".into()))
}

/// Reads all of stdin: the provider's JSON.
pub(super) fn read_stdin() -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_STDIN_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read stdin: {error}"))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_STDIN_BYTES) {
        return Err(format!("stdin holds more than {} MiB", MAX_STDIN_BYTES >> 20));
    }
    Ok(bytes)
}

/// The project of the provider's working directory. `None` when there is none and nothing in the environment demands one.
pub(super) fn find_project(
    provider: Provider,
    root: Option<&Path>,
    env: &Env,
    cwd: Option<&Path>,
) -> Result<Option<Project>, String> {
    let dir = provider.project_dir_variable.and_then(|name| env.var_os(name)).map(PathBuf::from);
    match context::find_project(env, root, [dir.as_deref(), cwd]) {
        Ok(Some(project)) => Ok(Some(project)),
        Ok(None) if env.var_os(vars::FAIRWAY_SESSION_ID).is_some() => {
            Err(format!("{} is set, but there is no project here", vars::FAIRWAY_SESSION_ID))
        }
        Ok(None) if root.is_some() || env.var_os(vars::FAIRWAY_ROOT).is_some() => {
            Err("there is no project at the path of --root or FAIRWAY_ROOT".to_owned())
        }
        Ok(None) => {
            let dirs = [dir.as_deref(), cwd, Some(env.cwd.as_path())];
            match missing_config(env, dirs.into_iter().flatten()) {
                Some(path) => {
                    let from = env.cwd.clone();
                    Err(message_with_hint(&ConfigError::NoProject { from, missing: Some(path) }.into()))
                }
                None => Ok(None),
            }
        }
        Err(error) => Err(message_with_hint(&error.into())),
    }
}

/// The caller's facts for the actions: provider, session, transcript and process.
pub(super) fn hook_caller(
    provider: Provider,
    env: &Env,
    payload: Payload,
    external: String,
) -> Result<HookCaller, String> {
    let label = Label::parse(provider.label()).map_err(|why| why.to_string())?;
    Ok(HookCaller {
        provider: label,
        other_providers: Provider::ALL.iter().filter(|other| **other != provider).map(|other| other.label()).collect(),
        external_session_id: external,
        transcript: payload.transcript_path.filter(|path| !path.is_empty()),
        cwd: payload.cwd.or_else(|| Some(env.cwd.clone())),
        agent_process: context::agent_process(provider, env),
        is_subagent: payload.agent_id.is_some(),
        has_wake_hook: provider.has_wake_hook(env),
        max_output_bytes: provider.max_output_bytes,
        is_supervisor: false,
    })
}

/// A reason for output: one line, masked, at most [`MAX_REASON_CHARS`] characters, and never empty.
pub(super) fn one_line(reason: &str) -> String {
    let line = secrets::mask(&render::strip_controls(reason));
    let short: String = line.trim().chars().take(MAX_REASON_CHARS).collect();
    if short.is_empty() { "no reason given".to_owned() } else { short }
}

/// An error's message with its hint.
pub(super) fn message_with_hint(error: &anyhow::Error) -> String {
    let failure = errors::classify(error);
    match failure.hint {
        Some(hint) => format!("{} ({hint})", failure.message),
        None => failure.message,
    }
}
