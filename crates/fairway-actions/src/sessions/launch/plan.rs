//! The plan of a launch: every value resolved and checked, nothing written or started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

pub(crate) use super::choice::Work;
pub use super::request::LaunchRequest;

use super::choice::{Choice, Place, resolve_work};
use super::profile::{self, LaunchHooks, ProfileInput, ProfiledProgram};
use super::program::{self, PreparedProgram};
use super::provider_hooks::ProviderHooks;
use super::purpose::Purpose;
use super::sandbox::{self, SandboxedWork};
use super::{environment, git_hooks, notes, structured};
use crate::App;
use crate::core::launch_event::OwnParts;
use crate::core::{lane_env, trust};
use fairway_core::adapters::{self, ResolvedBackend, StartConfig, Terminal};
use fairway_core::config::project::normalize;
use fairway_core::config::{ProgramSettings, Setup};
use fairway_core::domain::rules::initial_prompt::{PROMPT_VAR, Program, PromptDelivery};
use fairway_core::domain::sandbox::{SandboxClass, SandboxNetwork};
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::text_limits::path_text;
use fairway_core::domain::{Refusal, SessionId};
use fairway_core::env::vars;
use fairway_core::os::{host, terminal};

/// The configured socket that stands for the user's own multiplexer server.
const DEFAULT_SOCKET: &str = "default";

/// A launch that is resolved and checked.
#[derive(Debug, Clone)]
pub struct LaunchPlan {
    /// The session as it will be recorded.
    pub session: Session,
    /// The requested id, when the session has another one.
    pub requested_id: Option<SessionId>,
    /// The backend's script.
    pub located: ResolvedBackend,
    /// The directory where the backend script keeps its state.
    pub state_dir: PathBuf,
    /// The configuration for the backend script.
    pub start: StartConfig,
    /// The command as shell text.
    pub command: String,
    /// The environment variables that are set.
    pub environment: BTreeMap<String, String>,
    /// The multiplexer's socket, when one is configured.
    pub socket: Option<String>,
    /// Whether the backend script or this process runs the session's setup.
    pub setup: Setup,
    pub timeout: Duration,
    /// The prompt that is queued as the session's first message.
    pub first_prompt: Option<String>,
    /// The hooks that the launch adds to the program.
    pub hooks: LaunchHooks,
    pub known_hooks: &'static dyn ProviderHooks,
    /// The directory of the git hooks that ask the guard, when a rule needs them.
    pub git_hooks: Option<PathBuf>,
    /// Whether the program is given a first prompt.
    pub has_prompt: bool,
    pub notes: Vec<String>,
    /// The command for which the session is launched.
    pub purpose: Purpose,
    /// The network of the session's sandbox; `None` without a sandbox.
    pub network: Option<SandboxNetwork>,
    /// The parts of the request that are not stored.
    pub own: OwnParts,
}

/// Resolves and checks a launch. Writes nothing and starts nothing.
///
/// # Errors
/// `not_found` for a task, a lane, a worktree that `pre_start` does not make, a backend, a multiplexer or a program;
/// `untrusted`; `exists`; `invalid_value`.
pub fn plan(app: &App, request: &LaunchRequest) -> Result<LaunchPlan> {
    plan_for(app, request, || app.read(|tx| resolve_work(app, tx, request)))
}

/// Like [`plan`], but `work` finds the task, the lane and the role.
pub(crate) fn plan_for(app: &App, request: &LaunchRequest, work: impl FnOnce() -> Result<Work>) -> Result<LaunchPlan> {
    environment::check(&request.env)?;
    trust::refuse_tracked_store(app)?;
    trust::require(app)?;
    let launch = Launch::new(app, request, work()?)?;
    let mut notes = launch.notes()?;
    let program = launch.program(&mut notes)?;
    let (started, network) = launch.sandboxed(&program.prepared.program, &mut notes)?;
    let git_hooks = git_hooks::directory(app, &launch.session.role, &launch.place.worktree)?;
    let env = launch.environment(&program, git_hooks.as_deref())?;
    let start = launch.start(&program, started, env);
    let backend = app.settings.backends.get(&launch.choice.backend.backend).cloned().unwrap_or_default();
    let is_set = |(_, value): &(&String, &String)| !value.is_empty();
    let environment = start.env.iter().flatten().filter(is_set).map(|(name, value)| (name.clone(), value.clone()));
    Ok(LaunchPlan {
        requested_id: launch.replaced_id().cloned(),
        command: program.command,
        environment: environment.collect(),
        socket: backend.socket.map(|socket| socket_path(app, &socket)).transpose()?,
        setup: backend.setup.unwrap_or_default(),
        timeout: app.settings.sessions.launch_timeout + additional_timeout(&start),
        first_prompt: program.first_prompt,
        network,
        hooks: program.hooks,
        known_hooks: request.hooks,
        git_hooks,
        has_prompt: request.prompt.is_some(),
        notes,
        purpose: Purpose::Launch,
        own: OwnParts { command: request.command.is_some(), env: request.env.keys().cloned().collect() },
        start,
        session: launch.session,
        located: launch.choice.backend,
        state_dir: launch.place.backend_state,
    })
}

/// A launch while it is planned: the request and the decisions so far.
struct Launch<'a> {
    app: &'a App,
    request: &'a LaunchRequest,
    choice: Choice,
    place: Place,
    /// The session as it will be recorded.
    session: Session,
    /// The environment that the configuration and the request set.
    env: BTreeMap<String, String>,
}

/// The program of a launch before it gets its sandbox.
struct LaunchedProgram {
    /// The program as shell text, without its prompt.
    command: String,
    settings: ProgramSettings,
    prepared: PreparedProgram,
    /// The prompt that is queued as the session's first message.
    first_prompt: Option<String>,
    hooks: LaunchHooks,
}

impl<'a> Launch<'a> {
    fn new(app: &'a App, request: &'a LaunchRequest, work: Work) -> Result<Self> {
        let mut choice = Choice::of(app, request, work)?;
        let place = Place::of(app, request, &choice)?;
        let session = session(app, request, &choice, &place)?;
        let env = environment::requested(request, &choice)?;
        let structured = choice.structured.take();
        choice.structured =
            structured.map(|structured| structured.with_proof(app, &choice.provider, &env, &place.worktree));
        // The proof of an agent is the same in every lane. What is asked for goes before what the lane has.
        let of_lane =
            choice.work.lane.as_ref().map(|lane| lane_env::of_worktree(app, lane.name.as_str(), &place.worktree));
        let env = of_lane.transpose()?.into_iter().flatten().chain(env).collect();
        Ok(Self { app, request, choice, place, session, env })
    }

    /// The requested id, when the session has another one.
    fn replaced_id(&self) -> Option<&SessionId> {
        self.request.id.as_ref().filter(|requested| **requested != self.session.id)
    }

    /// Notes for the caller about the work and the place.
    fn notes(&self) -> Result<Vec<String>> {
        let (app, session, work) = (self.app, &self.session, &self.choice.work);
        let of_id = |old: &SessionId| format!("session {old} has ended; the new session is {}", session.id);
        let mut notes: Vec<String> = self.replaced_id().map(of_id).into_iter().collect();
        notes.extend(app.read(|tx| match &work.lane {
            Some(lane) if work.is_claimed => Ok(notes::other_sessions(app, tx, session, lane)?.into_iter().collect()),
            lane => notes::collect(app, tx, session, work.task.as_ref(), lane.as_ref()),
        })?);
        if !self.place.is_there && !work.is_planned {
            let worktree = self.place.worktree.display();
            notes.push(format!("the worktree {worktree} is not there yet: pre_start makes it"));
        }
        Ok(notes)
    }

    /// The program with its provider's profile and its first prompt.
    fn program(&self, notes: &mut Vec<String>) -> Result<LaunchedProgram> {
        let (app, request, provider) = (self.app, self.request, &self.choice.provider);
        let (settings, chosen) = match &self.choice.structured {
            // The signs of a screen, and the command for a terminal, mean nothing without one.
            Some(structured) => (ProgramSettings::default(), structured.program.clone()),
            None => {
                let settings = self.choice.program_settings(request);
                let chosen = program::choose(app, request.command.as_ref(), settings.command.as_deref(), provider);
                (settings, chosen)
            }
        };
        program::check(app, &chosen, &self.env, &self.place.worktree, notes)?;
        let has_own_command = request.command.is_some() && request.provider.is_none();
        let (settings, dropped) = program::drop_inapplicable_readiness(settings, has_own_command, &chosen, provider);
        notes.extend(dropped);
        let ProfiledProgram { program, hooks, prompt_by_hook } = self.profiled(&settings, chosen, notes)?;
        let prompt = request.prompt.as_deref().map(program::validate_prompt).transpose()?;
        let (first_prompt, prompt) = if prompt_by_hook { (prompt, None) } else { (None, prompt) };
        let command = program.shell_text.clone();
        let prepared = program::with_prompt(program, settings.prompt.unwrap_or(PromptDelivery::Nudge), prompt)?;
        Ok(LaunchedProgram { command, settings, prepared, first_prompt, hooks })
    }

    fn profiled(
        &self,
        settings: &ProgramSettings,
        program: Program,
        notes: &mut Vec<String>,
    ) -> Result<ProfiledProgram> {
        if self.choice.structured.is_some() {
            // The agent takes prompts and resumes by the protocol, and its questions are judged with or without hooks.
            let hooks = LaunchHooks { are_judged: true, ..LaunchHooks::default() };
            return Ok(ProfiledProgram { program, hooks, prompt_by_hook: true });
        }
        let input = ProfileInput {
            app: self.app,
            request: self.request,
            provider: &self.choice.provider,
            entry: &self.choice.entry,
            settings,
            env: &self.env,
            worktree: &self.place.worktree,
            is_local: self.choice.backend.built_in.is_some(),
            is_sandboxed: self.place.sandbox != SandboxClass::Off,
        };
        profile::apply(&input, program, notes)
    }

    /// Wraps the program in the session's sandbox. The network is `None` without a sandbox, and for a class whose network only
    /// its program knows.
    fn sandboxed(&self, program: &Program, notes: &mut Vec<String>) -> Result<(Program, Option<SandboxNetwork>)> {
        let (app, class) = (self.app, self.place.sandbox);
        if class == SandboxClass::Off {
            return Ok((program.clone(), None));
        }
        let Choice { work, provider, .. } = &self.choice;
        let settings = app.settings.sandbox_of(Some(provider));
        let network = settings.network_of(class);
        let work = SandboxedWork { lane: work.lane.as_ref(), provider, is_planned: work.is_planned, class, network };
        sandbox::check(app, self.request, &work)?;
        let wrapped = sandbox::wrap(app, program.clone(), &work, &self.env)?;
        notes.push(sandbox::opened(app, &work, &settings));
        Ok((wrapped, (class == SandboxClass::Namespace).then_some(network)))
    }

    /// The session's environment, with the variables that its hooks and its prompt need.
    fn environment(&self, program: &LaunchedProgram, git_hooks: Option<&Path>) -> Result<BTreeMap<String, String>> {
        let mut all = environment::of_session(self.app, &self.session, &self.env)?;
        if let Some((path, _)) = &program.hooks.file {
            all.insert(vars::FAIRWAY_LAUNCH_HOOKS.to_owned(), path_text("the hooks' settings file", path)?);
        }
        if let Some(directory) = git_hooks {
            path_text("the directory of the git hooks", directory)?;
            all.extend(git_hooks::variables(self.app, directory, &all));
        }
        // The built-in scripts start the argv, which needs the variable only where the program reads it.
        let reads_prompt = self.choice.backend.built_in.is_none() || program.prepared.reads_prompt_var;
        let prompt = program.prepared.prompt_var.clone().filter(|_| reads_prompt);
        all.extend(prompt.map(|prompt| (PROMPT_VAR.to_owned(), prompt)));
        Ok(all)
    }

    /// The configuration for the backend's script.
    fn start(&self, launched: &LaunchedProgram, program: Program, env: BTreeMap<String, String>) -> StartConfig {
        let (session, setup, settings) = (&self.session, self.choice.role.setup.clone(), launched.settings.clone());
        StartConfig {
            work_dir: session.worktree.clone(),
            command: Some(program.shell_text),
            argv: program.argv,
            env: Some(env),
            process_names: settings.process_names,
            nudge: launched.prepared.typed_prompt.clone(),
            ready_prompt_prefix: settings.ready_prompt_prefix,
            ready_delay_ms: settings.ready_delay_ms,
            pre_start: given(setup.pre_start),
            session_setup: given(setup.session_setup),
            session_live: given(setup.session_live),
            terminal: terminal_size(self.app, &self.choice.backend),
            transcript: session.transcript.clone(),
            session_id: Some(session.id.to_string()),
            run_id: Some(session.run_id.to_string()),
            structured: self.choice.structured.as_ref().map(|structured| structured.start.clone()),
            ..StartConfig::default()
        }
    }
}

fn session(app: &App, request: &LaunchRequest, choice: &Choice, place: &Place) -> Result<Session> {
    let Choice { work, provider, id, backend, .. } = choice;
    let now = app.env.now();
    let local = host::identity();
    let project = adapters::project_part(&app.project.store);
    Ok(Session {
        lane: work.lane.as_ref().map(|lane| lane.name.clone()),
        task: request.task.clone(),
        provider: Some(provider.clone()),
        backend: Some(backend.backend.clone()),
        session_name: Some(adapters::session_name(id, backend.built_in, &project)),
        host: local.name,
        host_id: local.id,
        transcript: Some(path_text("transcript", &place.transcript)?),
        worktree: Some(path_text("worktree", &place.worktree)?),
        branch: place.branch.clone(),
        adapter_script: Some(path_text("backend", &backend.script)?),
        adapter_state: Some(path_text("the state directory of backend scripts", &place.backend_state)?),
        sandbox: Some(place.sandbox),
        ..Session::new(id.clone(), app.env.ids.uuid(now).into(), work.role.clone(), SessionStatus::Starting, now)
    })
}

/// How much longer than `launch_timeout` a start may take: 30 s for each readiness check and each setup command.
fn additional_timeout(start: &StartConfig) -> Duration {
    const EACH: Duration = Duration::from_secs(30);
    let commands = [&start.pre_start, &start.session_setup, &start.session_live];
    let steps = commands.into_iter().map(|commands| commands.as_ref().map_or(0, Vec::len)).sum::<usize>()
        + usize::from(start.process_names.is_some())
        + usize::from(start.ready_prompt_prefix.is_some());
    let delay = Duration::from_millis(start.ready_delay_ms.unwrap_or_default())
        + start.structured.as_ref().map_or(Duration::ZERO, |_| structured::SETUP_TIMEOUT);
    EACH.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX)).saturating_add(delay)
}

/// The commands, if there are any.
fn given(commands: Vec<String>) -> Option<Vec<String>> {
    Some(commands).filter(|commands| !commands.is_empty())
}

/// The configured socket in the form that scripts receive: `default`, or an absolute path.
fn socket_path(app: &App, configured: &str) -> Result<String, Refusal> {
    if configured == DEFAULT_SOCKET {
        return Ok(configured.to_owned());
    }
    path_text("the backend's socket", &normalize(&app.project.root.join(configured)))
}

/// The size of the caller's terminal, if it has one. screen drops the upper rows when a smaller terminal attaches, so that a
/// program without a screen of its own would show nothing: its sessions start with the rows that every terminal has.
fn terminal_size(app: &App, located: &ResolvedBackend) -> Option<Terminal> {
    let own = app.env.terminal.stdout.then(terminal::size).flatten().map(|(rows, cols)| Terminal { rows, cols });
    let is_screen = located.built_in.is_some_and(|built_in| built_in.multiplexer == Some("screen"));
    own.or_else(|| is_screen.then(|| Terminal { rows: 24, ..Terminal::default() }))
}
