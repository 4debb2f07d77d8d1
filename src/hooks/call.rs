//! Shared steps of all hook calls: stdin, the project, the actor, the caller's process and transcript, and the text of a failure.

use std::fs::{self, File};
use std::io::{self, Read};
use std::iter;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Result;

use super::payload::Payload;
use super::{Provider, transcripts};
use fairway_actions::App;
use fairway_actions::agents::hook::{HookCaller, TranscriptUsage};
use fairway_actions::core::errors;
use fairway_core::config::project::missing_config;
use fairway_core::config::{ConfigError, Project};
use fairway_core::domain::id::Label;
use fairway_core::domain::{Actor, LaneName, Role, RunId, SessionId, secrets};
use fairway_core::env::{Env, vars};
use fairway_core::os::process::{self, ProcessKey};
use fairway_core::os::{self, process_tree};
use fairway_core::render;

const MAX_STDIN_BYTES: u64 = 8 << 20;
const MAX_REASON_CHARS: usize = 1_000;

#[derive(Debug)]
pub struct HookCall<'a> {
    pub provider: Provider,
    pub event: &'a str,
    /// The project's root from `--root`.
    pub root: Option<&'a Path>,
    /// Whether a launch brought the hook, and not the provider's other settings.
    pub by_launch: bool,
}

/// Calls `work` and turns a panic into an error, without the usual output of a panic.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    panic::set_hook(Box::new(|_| {}));
    panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err("internal error: the hook stopped unexpectedly".into()))
}

/// Reads all of stdin, where the provider passes its JSON.
pub(super) fn read_stdin() -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MAX_STDIN_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read stdin: {error}"))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_STDIN_BYTES) {
        return Err(format!("stdin holds more than {} MiB", MAX_STDIN_BYTES >> 20));
    }
    Ok(bytes)
}

/// Finds the project at `root` or `FAIRWAY_ROOT`, else that of the provider's project directory or working directory. Returns
/// `None` when there is no project. That is an error when `root`, `FAIRWAY_ROOT` or `FAIRWAY_SESSION_ID` is given, and when
/// there was a project whose configuration file is now missing.
pub(super) fn find_project(
    provider: Provider,
    root: Option<&Path>,
    env: &Env,
    cwd: Option<&Path>,
) -> Result<Option<Project>, String> {
    let dir = provider.project_dir_variable.and_then(|name| env.var_os(name)).map(PathBuf::from);
    match discover_project(env, root, [dir.as_deref(), cwd]) {
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

/// Collects what is known of the hook's caller: provider, session, transcript and process. `external` is the provider's own
/// id of the session.
pub(super) fn hook_caller(
    provider: Provider,
    env: &Env,
    payload: Payload,
    external: String,
) -> Result<HookCaller, String> {
    let label = Label::parse(provider.label()).map_err(|why| why.to_string())?;
    let agent_process = agent_process(provider, env);
    Ok(HookCaller {
        provider: label,
        other_providers: Provider::ALL.iter().filter(|other| **other != provider).map(|other| other.label()).collect(),
        external_session_id: external,
        transcript: payload.transcript_path.filter(|path| !path.is_empty()),
        cwd: payload.cwd.or_else(|| Some(env.cwd.clone())),
        is_first_agent: agent_process.as_ref().is_some_and(|agent| is_first_agent(provider, agent, env)),
        agent_process,
        is_subagent: payload.agent_id.is_some(),
        has_wake_hook: provider.has_wake_hook(env),
        max_output_bytes: provider.max_output_bytes,
        is_supervisor: false,
    })
}

/// Shortens a reason for output: one line with secrets masked, at most [`MAX_REASON_CHARS`] characters, and never empty.
pub(super) fn one_line(reason: &str) -> String {
    let line = secrets::mask(&render::strip_controls(reason));
    let short: String = line.trim().chars().take(MAX_REASON_CHARS).collect();
    if short.is_empty() { "no reason given".to_owned() } else { short }
}

pub(super) fn message_with_hint(error: &anyhow::Error) -> String {
    let failure = errors::classify(error);
    match failure.hint {
        Some(hint) => format!("{} ({hint})", failure.message),
        None => failure.message,
    }
}

/// How many ancestor processes are searched for the agent: one or two shells may be in between.
const MAX_ANCESTORS: usize = 6;

/// The project of the first of these directories that has one, else of the working directory. With `--root` or `FAIRWAY_ROOT`
/// only that project counts. Returns `None` without a project.
///
/// The provider's project directory comes first: an agent that changes its directory has not left the project.
pub(super) fn discover_project(
    env: &Env,
    root: Option<&Path>,
    dirs: [Option<&Path>; 2],
) -> Result<Option<Project>, ConfigError> {
    let found = |env: &Env| match Project::discover(env, root) {
        Err(ConfigError::NoProject { .. }) => Ok(None),
        found => found.map(Some),
    };
    if root.is_none() && env.var_os(vars::FAIRWAY_ROOT).is_none() {
        for dir in dirs.into_iter().flatten().filter(|dir| dir.is_absolute() && *dir != env.cwd) {
            let mut moved = env.clone();
            // A provider may name a directory by a link; a project has one path.
            moved.cwd = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
            if let Some(project) = found(&moved)? {
                return Ok(Some(Project::at(project.root, env)));
            }
        }
    }
    found(env)
}

/// Whether a stream is `/dev/null`. That is also true of a standard stream that was closed when the process started, because
/// Rust opens `/dev/null` in its place.
pub(super) fn is_dev_null(stream: &impl AsFd) -> bool {
    let stream = stream.as_fd().try_clone_to_owned().and_then(|stream| File::from(stream).metadata());
    match (stream, fs::metadata("/dev/null")) {
        (Ok(stream), Ok(null)) => stream.file_type().is_char_device() && stream.rdev() == null.rdev(),
        _ => false,
    }
}

/// Opens the project for the actor that the environment variables name.
pub(super) fn build_app(env: Env, project: Project) -> Result<App> {
    let session = env.var(vars::FAIRWAY_SESSION_ID).map(SessionId::parse).transpose()?;
    let role = env.var(vars::FAIRWAY_ROLE).map(Role::parse).transpose()?;
    let lane = env.var(vars::FAIRWAY_LANE).map(LaneName::parse).transpose()?;
    let name = match &session {
        Some(session) => session.to_string(),
        None => format!("{}@{}", os::user::name(), os::host::name()),
    };
    let run_id = env.var(vars::FAIRWAY_RUN_ID).map(RunId::parse);
    let actor = Actor { name, session, run_id, role, lane, epoch: None };
    Ok(App::for_caller(Rc::new(env), project, actor, |_| None)?)
}

/// The agent's process: the one that it names itself, or the nearest ancestor with one of its names. Returns `None` when it is
/// not certain: a wrong process would let a live session be judged as exited.
fn agent_process(provider: Provider, env: &Env) -> Option<ProcessKey> {
    let named = provider.pid_variable.and_then(|name| env.var(name)?.parse().ok()).and_then(ProcessKey::of);
    if let Some(named) = named.filter(process::is_own_ancestor) {
        return Some(named);
    }
    let mut pid = i32::try_from(std::os::unix::process::parent_id()).ok()?;
    for _ in 0..MAX_ANCESTORS {
        let found = process::stat(pid).ok()??;
        if process::names(pid).iter().any(|name| provider.process_names.contains(&name.as_str())) {
            return ProcessKey::of(pid);
        }
        pid = found.parent;
    }
    None
}

/// Whether no process above an agent's is another agent of this provider in the same session run.
fn is_first_agent(provider: Provider, agent: &ProcessKey, env: &Env) -> bool {
    let Some(run_id) = env.var(vars::FAIRWAY_RUN_ID) else { return false };
    let entry = format!("{}={run_id}", vars::FAIRWAY_RUN_ID);
    let is_agent = |pid| process::names(pid).iter().any(|name| name == provider.label());
    let parent = |pid: &i32| process::stat(*pid).ok().flatten().map(|found| found.parent);
    let mut above = iter::successors(parent(&agent.pid), parent).take_while(|pid| *pid > 0);
    !above.any(|pid| is_agent(pid) && process_tree::has_env_entry(pid, &entry))
}

/// Reads the usage in a provider's transcript, from a byte offset on.
pub(super) fn read_transcript(provider: Provider, path: &Path, offset: u64) -> io::Result<TranscriptUsage> {
    let read = transcripts::read_since(provider.label(), path, offset)?;
    #[expect(clippy::cast_precision_loss, reason = "a ratio for display; a few digits are enough")]
    let context = read
        .context_tokens
        .zip(read.context_window)
        .filter(|(_, window)| *window > 0)
        .map(|(tokens, window)| (tokens as f64 / window as f64).min(1.0));
    Ok(TranscriptUsage { turns: read.turns, offset: read.offset, context, finds_program: read.finds_program })
}
