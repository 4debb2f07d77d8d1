//! Running a program in the sandbox of a lane, in the foreground.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::Result;

use super::calls_from_inside::{self, Answering};
use super::host_gate::ProjectGate;
use super::mount_mark::MountMark;
use super::openings::{self, Opening, Surroundings};
use super::{environment, lane, proxy, proxy_forward, state};
use crate::App;
use crate::core::sandbox_availability::{self, SandboxMaker};
use crate::core::{errors, trust};
use fairway_core::config::{SandboxSettings, sandbox_defaults};
use fairway_core::domain::LaneName;
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::sandbox_command::{self, PrefixFacts, SandboxFacts, Shown};
use fairway_core::domain::sandbox::{SandboxClass, SandboxNetwork};
use fairway_core::env::{git_hooks, vars};
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::git::LaneClone;
use fairway_core::os::syscall_filter::SyscallFilter;
use fairway_core::os::{exec, executable, foreground, signals};
use fairway_core::store::lanes;

/// The program to run, and its lane and sandbox.
#[derive(Debug)]
pub struct SandboxRequest {
    pub lane: Option<LaneName>,
    /// The class; `None` means the configured one, or namespaces when that is `off`.
    pub class: Option<SandboxClass>,
    /// The network; `None` means the configured one.
    pub network: Option<SandboxNetwork>,
    /// The agent whose state is writable inside.
    pub provider: Option<Label>,
    /// The names of variables that are passed to the program, in addition to the configured ones.
    pub env: Vec<String>,
    pub argv: Vec<OsString>,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    pub exit: ExitReason,
    pub notes: Vec<String>,
}

impl SandboxRequest {
    /// The requested class, else the configured one. `off` becomes `namespace`.
    pub fn class(&self, app: &App) -> SandboxClass {
        match self.class.unwrap_or(app.settings.sandbox.class) {
            SandboxClass::Off => SandboxClass::Namespace,
            class => class,
        }
    }
}

/// Runs a program in the lane's sandbox until it ends, and brings its commits into the lane's branch.
///
/// # Errors
/// `sandbox_unavailable`; `untrusted`; `in_use`; those of [`lane::find`].
pub fn run(app: &App, request: &SandboxRequest) -> Result<Finished> {
    trust::require(app)?;
    let class = request.class(app);
    sandbox_availability::check_network(class, request.network)?;
    let network = request.network.unwrap_or(app.settings.sandbox_of(request.provider.as_ref()).network_of(class));
    let maker = sandbox_availability::require(app, class, network)?;
    let place = lane::find(app, request.lane.as_ref())?;
    let mut notes = Vec::new();
    let repository = place.open(app, &mut notes)?;
    // A session is ended by signals, and its commits are taken over after that.
    signals::defer_ends().map_err(errors::internal)?;
    let (began, before) = (repository.clone.start(), openings::later_names(&place.worktree));
    let agent = request.provider.as_ref().map(|provider| (provider, state::dir(&place.dir, provider)));
    prepare_state(app, agent.as_ref())?;
    let mut opened = of_worktree(app, &place.worktree, agent, Some(&repository.clone))?;
    // Without a session the verbs would be those of the person.
    if app.actor.session.is_some() {
        let answering = Answering {
            program: executable::current_executable().map_err(errors::internal)?,
            env: app.env.vars().clone(),
            worktree: place.worktree.clone(),
            lane: place.lane.to_string(),
            scratch: place.dir.clone(),
            clone: repository.clone.clone(),
            limit: app.settings.sandbox.take_back_limit,
            taking: Mutex::new(()),
        };
        calls_from_inside::listen(&place.dir, Arc::new(answering)).map_err(errors::internal)?;
        let source = Shown::Writable(place.dir.join(calls_from_inside::SOCKET));
        opened.push(Opening { path: calls_from_inside::INSIDE.into(), shown: source, why: "the verbs of the session" });
    }
    let mark = MountMark::hold(&place.dir).map_err(errors::internal)?;
    let program = Inside {
        worktree: &place.worktree,
        dir: &place.dir,
        lane: Some(&place.lane),
        provider: request.provider.as_ref(),
        class,
        network,
        env: &request.env,
        argv: &request.argv,
    };
    let ended = inside(app, &maker, opened, &program)?;
    notes.extend(ended.notes);
    mark.release(&place.worktree).map_err(errors::internal)?;
    let settled = place.settle(app, &repository.clone)?;
    notes.extend(place.came_out(app, &repository.clone, &began, &before)?);
    notes.extend(settled);
    Ok(Finished { exit: ended.exit, notes })
}

/// A program to run inside.
pub(super) struct Inside<'a> {
    pub worktree: &'a Path,
    /// The directory for the proxy's socket.
    pub dir: &'a Path,
    pub lane: Option<&'a LaneName>,
    /// The agent inside.
    pub provider: Option<&'a Label>,
    pub class: SandboxClass,
    pub network: SandboxNetwork,
    /// The names of variables that are passed to it, in addition to the configured ones.
    pub env: &'a [String],
    pub argv: &'a [OsString],
}

/// Runs a program in the foreground, in a sandbox with these openings, until it ends. Bubblewrap's sandbox with the network
/// `proxy` gets a proxy that this process runs.
pub(super) fn inside(
    app: &App,
    maker: &SandboxMaker,
    mut opened: Vec<Opening>,
    program: &Inside<'_>,
) -> Result<Finished> {
    let settings = app.settings.sandbox_of(program.provider);
    let named = [&settings.env[..], program.env].concat();
    let mut env = environment::inside(app.env.vars(), &named, runtime_dir(app).as_deref(), program.class);
    // A descriptor of this process would be a way out.
    exec::close_on_exec().and_then(|()| exec::pipe_stdin()).map_err(errors::internal)?;
    let bubblewrap = match maker {
        SandboxMaker::Bubblewrap(bubblewrap) => bubblewrap,
        SandboxMaker::Prefix(found) => {
            let words = prefix_words(&app.settings.sandbox.prefix, program.worktree, &opened, &env);
            let args: Vec<OsString> = words.into_iter().skip(1).chain(program.argv.iter().cloned()).collect();
            let exit = foreground::run(found, &args, &env, program.worktree).map_err(errors::internal)?;
            return Ok(Finished { exit, notes: Vec::new() });
        }
    };
    let gate = match program.network {
        SandboxNetwork::Proxy => Some(Arc::new(ProjectGate::new(app, program.lane, program.provider))),
        SandboxNetwork::None | SandboxNetwork::Open => None,
    };
    if let Some(gate) = &gate {
        let gate = Arc::clone(gate);
        proxy::listen(program.dir, gate).map_err(errors::internal)?;
        opened.push(proxy_opening(program.dir));
    }
    let filter = SyscallFilter::new().map_err(errors::internal)?;
    let here = app.env.cwd.canonicalize().ok().filter(|here| here.starts_with(program.worktree));
    let facts = SandboxFacts {
        shown: openings::shown(&opened),
        network: program.network,
        directory: here.unwrap_or_else(|| program.worktree.to_path_buf()),
        filter: Some(filter.descriptor()),
    };
    let mut args = sandbox_command::arguments(&facts);
    if gate.is_some() {
        args.extend(forward_words(&executable::current_executable().map_err(errors::internal)?));
        let exceptions = proxy_forward::exceptions(&settings);
        env.extend(exceptions.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
    args.extend(program.argv.iter().cloned());
    let exit = foreground::run(&bubblewrap.program, &args, &env, program.worktree).map_err(errors::internal)?;
    Ok(Finished { exit, notes: gate.map(|gate| gate.notes()).unwrap_or_default() })
}

/// The command line of the class `command` that is put before a program in this worktree: the configured prefix, with its
/// placeholders filled.
pub fn prefix_words(
    prefix: &[String],
    worktree: &Path,
    opened: &[Opening],
    env: &BTreeMap<OsString, OsString>,
) -> Vec<OsString> {
    let facts = PrefixFacts {
        lane: worktree.to_path_buf(),
        mounts: openings::mounts(opened),
        env: env.keys().filter_map(|name| name.to_str()).map(str::to_owned).collect(),
    };
    sandbox_command::expand_prefix(prefix, &facts)
}

/// The opening through which a sandbox reaches the proxy's socket, which is in `dir`.
pub fn proxy_opening(dir: &Path) -> Opening {
    let shown = Shown::Writable(dir.join(proxy::SOCKET));
    Opening { path: proxy::INSIDE.into(), shown, why: "the proxy to the hosts that are open" }
}

/// The command line that is put before a program inside, so that it can use the proxy. `own` is the path of this program.
pub fn forward_words(own: &Path) -> Vec<OsString> {
    let words = ["sandbox", "forward", "--"].map(OsString::from);
    std::iter::once(own.as_os_str().to_owned()).chain(words).collect()
}

/// Lists the paths that a sandbox around this worktree opens or closes. Without a repository the list has only the paths that
/// are known before one is made.
pub fn of_worktree(
    app: &App,
    worktree: &Path,
    agent: Option<(&Label, PathBuf)>,
    repository: Option<&LaneClone>,
) -> Result<Vec<Opening>> {
    let settings: &SandboxSettings = &app.settings.sandbox;
    let path = app.env.var_os(vars::PATH).map(OsString::as_os_str).unwrap_or_default();
    let mut closed = vec![app.project.root.clone(), app.project.state.clone()];
    closed.extend(app.project.protected_dirs());
    // Other lanes, wherever their worktrees are.
    let lanes = app.read(|tx| Ok(lanes::all(tx)?))?.into_iter().filter_map(|lane| lane.worktree.map(PathBuf::from));
    closed.extend(lanes.filter(|dir| !dir.canonicalize().is_ok_and(|dir| dir == worktree)));
    let (socket_dirs, sockets) = named_sockets(app);
    let store = &app.project.store;
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", store.display()));
    let launch_hooks = app.env.var_os(vars::FAIRWAY_LAUNCH_HOOKS).map(PathBuf::from);
    let around = Surroundings {
        home: app.env.home.clone(),
        socket_dirs,
        sockets,
        path: std::env::split_paths(path).collect(),
        closed,
        closed_files: vec![store.clone(), beside("-wal"), beside("-shm"), app.project.output_file()],
        settings,
        agent,
        program: executable::current_executable().map_err(errors::internal)?,
        worktree: worktree.to_path_buf(),
        repository,
        // Scripts that call Fairway: the hooks of the launch and those of git.
        readable: launch_hooks.into_iter().chain(git_hooks::base(&app.env)).collect(),
    };
    Ok(around.openings())
}

fn prepare_state(app: &App, agent: Option<&(&Label, PathBuf)>) -> Result<()> {
    let state = agent.and_then(|(name, dir)| Some((sandbox_defaults().state.remove(name.as_str())?, dir)));
    if let (Some((state, dir)), Some(home)) = (state, &app.env.home) {
        state::prepare(dir, home, &state).map_err(errors::internal)?;
    }
    Ok(())
}

/// The directories in which programs of the person have sockets, by the variables that name them, and the sockets that variables
/// name.
fn named_sockets(app: &App) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let value = |name: &&str| app.env.var_os(name).cloned();
    let dirs =
        [vars::XDG_RUNTIME_DIR, vars::TMPDIR, "TMUX_TMPDIR", "SCREENDIR"].iter().filter_map(value).map(PathBuf::from);
    let named = ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", vars::TMUX].iter().filter_map(value);
    let sockets = named.filter_map(|text| {
        // An address such as unix:path=/run/bus,guid=1 or unix:///run/docker.sock, or the path before a comma.
        let text = text.into_string().ok()?;
        let path = text.get(text.find('/')?..)?.trim_start_matches('/').split([',', ';']).next()?.to_owned();
        Some(PathBuf::from("/").join(path))
    });
    (dirs.collect(), sockets.collect())
}

fn runtime_dir(app: &App) -> Option<PathBuf> {
    app.env.var_os(vars::XDG_RUNTIME_DIR).map(PathBuf::from)
}
