//! The surroundings of a hook call: project, actor, agent process and transcript.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::Path,
    rc::Rc,
};

use anyhow::Result;

use super::{Provider, transcripts};
use crate::{
    actions::{App, agents::hook::TranscriptUsage},
    config::{ConfigError, Project},
    domain::{Actor, LaneName, Role, RunId, SessionId},
    env::{Env, vars},
    os::{
        self,
        process::{self, ProcessKey},
    },
};

/// How many ancestor processes are searched for the agent: one or two shells may be in between.
const MAX_ANCESTORS: usize = 6;

/// The project of the first of these directories that has one, else of the working directory. With `--root` or `FAIRWAY_ROOT`
/// only that project counts. `None` without a project.
///
/// The provider's project directory comes first: an agent that changes its directory has not left the project.
pub(super) fn find_project(
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

/// Whether a stream is `/dev/null`. A stream that was closed at the start of the process is opened there too.
pub(super) fn is_dev_null(stream: &impl AsFd) -> bool {
    let stream = stream.as_fd().try_clone_to_owned().and_then(|stream| File::from(stream).metadata());
    match (stream, fs::metadata("/dev/null")) {
        (Ok(stream), Ok(null)) => stream.file_type().is_char_device() && stream.rdev() == null.rdev(),
        _ => false,
    }
}

/// The app of this call, with the actor from the environment.
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

/// The agent's process: the one that it names itself, or the nearest ancestor with one of its names. `None` when it is not
/// certain: a wrong process would let a live session be judged as exited.
pub(super) fn agent_process(provider: Provider, env: &Env) -> Option<ProcessKey> {
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

/// The usage in a provider's transcript, from an offset on.
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
