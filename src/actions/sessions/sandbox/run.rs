//! A program that runs in the sandbox of a lane, in the foreground.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use anyhow::Result;

use super::{
    answer::{self, Answering},
    environment, lane,
    mount_mark::MountMark,
    openings::{self, Opening, Surroundings},
};
use crate::{
    actions::{
        App,
        core::{errors, sandbox_availability, trust},
    },
    config::SandboxSettings,
    domain::{
        LaneName,
        id::Label,
        rules::sandbox_mounts::{self, SandboxFacts, Shown},
        sandbox::SandboxNetwork,
    },
    env::vars,
    os::{
        exec, executable,
        exit_reason::ExitReason,
        foreground,
        git::LaneClone,
        sandbox::{Bubblewrap, Filter},
        signals,
    },
};

/// What is to run where.
#[derive(Debug)]
pub struct SandboxRequest {
    pub lane: Option<LaneName>,
    /// The network; that of the configuration when it is `None`.
    pub network: Option<SandboxNetwork>,
    /// The agent whose state is open.
    pub provider: Option<Label>,
    /// The names of variables that reach the program, beside those of the configuration.
    pub env: Vec<String>,
    /// The program and its arguments.
    pub argv: Vec<OsString>,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    pub exit: ExitReason,
    pub notes: Vec<String>,
}

/// Runs the program to its end. Its commits are then on the lane's branch.
///
/// # Errors
/// `sandbox_unavailable`; `untrusted`; as for [`lane::find`]; `in_use`; as git fails.
pub fn run(app: &App, request: &SandboxRequest) -> Result<Finished> {
    trust::require(app)?;
    // A session is ended by signals, and its commits are taken over after that.
    signals::defer_ends().map_err(errors::internal)?;
    let bubblewrap = sandbox_availability::require(app.env.vars())?;
    let place = lane::find(app, request.lane.as_ref())?;
    let mut notes = Vec::new();
    let repository = place.open(app, &mut notes)?;
    let before = openings::later_names(&place.worktree);
    let mut opened = of_worktree(app, &place.worktree, request.provider.as_ref(), Some(&repository.clone))?;
    // Without a session the verbs would be those of the person.
    if app.actor.session.is_some() {
        let answering = Answering {
            program: executable::current_executable().map_err(errors::internal)?,
            env: app.env.vars().clone(),
            worktree: place.worktree.clone(),
            lane: place.lane.to_string(),
            scratch: place.dir.clone(),
            clone: repository.clone.clone(),
            taking: Mutex::new(()),
        };
        answer::listen(&place.dir, Arc::new(answering)).map_err(errors::internal)?;
        let source = Shown::Writable(place.dir.join(answer::SOCKET));
        opened.push(Opening { path: answer::INSIDE.into(), shown: source, why: "the verbs of the session" });
    }
    let mark = MountMark::hold(&place.dir).map_err(errors::internal)?;
    let program =
        Inside { worktree: &place.worktree, network: request.network, env: &request.env, argv: &request.argv };
    let exit = inside(app, &bubblewrap, &opened, &program)?;
    mark.release(&place.worktree).map_err(errors::internal)?;
    let new = openings::later_names(&place.worktree).into_iter().filter(|name| !before.contains(name));
    notes.extend(new.map(|name| format!("would run on your machine: {name} is new in the lane {}", place.lane)));
    notes.extend(place.take_back(app, &repository.clone)?);
    repository.clone.remove().map_err(errors::internal)?;
    Ok(Finished { exit, notes })
}

/// A program inside.
pub(super) struct Inside<'a> {
    pub worktree: &'a Path,
    /// The network; that of the configuration when it is `None`.
    pub network: Option<SandboxNetwork>,
    /// The names of variables that reach it, beside those of the configuration.
    pub env: &'a [String],
    pub argv: &'a [OsString],
}

/// Runs a program in a sandbox with these openings, to its end.
pub(super) fn inside(
    app: &App,
    bubblewrap: &Bubblewrap,
    opened: &[Opening],
    program: &Inside<'_>,
) -> Result<ExitReason> {
    // A descriptor of this process would be a way out.
    exec::close_on_exec().map_err(errors::internal)?;
    let filter = Filter::new().map_err(errors::internal)?;
    let here = app.env.cwd.canonicalize().ok().filter(|here| here.starts_with(program.worktree));
    let facts = SandboxFacts {
        shown: openings::shown(opened),
        network: program.network.unwrap_or(app.settings.sandbox.network),
        directory: here.unwrap_or_else(|| program.worktree.to_path_buf()),
        filter: Some(filter.descriptor()),
    };
    let mut args = sandbox_mounts::arguments(&facts);
    args.extend(program.argv.iter().cloned());
    let named = [&app.settings.sandbox.env[..], program.env].concat();
    let env = environment::inside(app.env.vars(), &named, runtime_dir(app).as_deref());
    foreground::run(&bubblewrap.program, &args, &env, program.worktree).map_err(errors::internal)
}

/// What a sandbox around this worktree opens and closes. Without a repository, as far as it is known before one is made.
pub fn of_worktree(
    app: &App,
    worktree: &Path,
    provider: Option<&Label>,
    repository: Option<&LaneClone>,
) -> Result<Vec<Opening>> {
    let settings: &SandboxSettings = &app.settings.sandbox;
    let path = app.env.var_os(vars::PATH).map(OsString::as_os_str).unwrap_or_default();
    let mut closed = vec![app.project.root.clone(), app.project.state.clone()];
    closed.extend(app.project.protected_dirs());
    let store = &app.project.store;
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", store.display()));
    let around = Surroundings {
        home: app.env.home.clone(),
        runtime_dir: runtime_dir(app),
        path: std::env::split_paths(path).collect(),
        closed,
        closed_files: vec![store.clone(), beside("-wal"), beside("-shm"), app.project.output_file()],
        settings,
        provider: provider.map(Label::as_str),
        program: executable::current_executable().map_err(errors::internal)?,
        worktree: worktree.to_path_buf(),
        repository,
        readable: app.env.var_os(vars::FAIRWAY_LAUNCH_HOOKS).map(PathBuf::from).into_iter().collect(),
    };
    Ok(around.openings())
}

fn runtime_dir(app: &App) -> Option<PathBuf> {
    app.env.var_os(vars::XDG_RUNTIME_DIR).map(PathBuf::from)
}
