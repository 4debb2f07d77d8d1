//! The plan of a launch: every value resolved and checked, nothing written or started.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use anyhow::Result;

pub(crate) use super::choice::Work;
pub use super::request::LaunchRequest;

use super::{
    choice::{backend, check_multiplexer, program_settings, provider, resolve_work},
    environment::{check_variable, requested_env, session_env},
    git_hooks, notes,
    place::{branch, check_worktree, path_text, transcript, worktree},
    profile::{self, LaunchHooks, ProfileInput, ProfiledProgram},
    program,
    provider_hooks::ProviderHooks,
    purpose::Purpose,
    sandbox::{self, SandboxedWork},
    session_id, structured,
};
use crate::{
    actions::{
        App,
        core::{launch_parts::OwnParts, other_host, trust},
    },
    adapters::{self, ResolvedBackend, StartConfig, Terminal},
    config::{ProgramSettings, Setup, project::normalize},
    domain::{
        Refusal, SessionId,
        rules::initial_prompt::{PROMPT_VAR, PromptDelivery},
        sandbox::{SandboxClass, SandboxNetwork},
        session::{Session, SessionStatus},
    },
    env::vars,
    os::{git::Git, host, terminal},
};

/// The configured socket that stands for the user's own multiplexer server.
const DEFAULT_SOCKET: &str = "default";

/// A checked launch.
#[derive(Debug, Clone)]
pub struct LaunchPlan {
    /// The session as it will be recorded.
    pub session: Session,
    /// The requested id, where the session has another one.
    pub requested_id: Option<SessionId>,
    /// The backend's script.
    pub located: ResolvedBackend,
    /// The directory where the script keeps its state.
    pub state_dir: PathBuf,
    /// The configuration for the script.
    pub start: StartConfig,
    /// The command as shell text.
    pub command: String,
    /// The environment variables that are set.
    pub environment: BTreeMap<String, String>,
    /// The multiplexer's socket, when it is configured.
    pub socket: Option<String>,
    /// Whether the script or this call runs the session's setup.
    pub setup: Setup,
    /// The timeout of the start.
    pub timeout: Duration,
    /// The prompt that goes as the session's first message.
    pub first_prompt: Option<String>,
    /// The hooks that the launch brings.
    pub hooks: LaunchHooks,
    pub known_hooks: &'static dyn ProviderHooks,
    /// The directory of the git hooks that ask the guard, when a rule needs them.
    pub git_hooks: Option<PathBuf>,
    /// Whether the program is given a first prompt.
    pub has_prompt: bool,
    /// Notes for the answer.
    pub notes: Vec<String>,
    /// The command that launches.
    pub purpose: Purpose,
    /// The network of its sandbox; `None` without one.
    pub network: Option<SandboxNetwork>,
    /// The parts of the request that are not stored.
    pub own: OwnParts,
}

/// Resolves and checks a launch. Writes nothing and starts nothing.
///
/// # Errors
/// `not_found` for a task, lane, worktree that `pre_start` does not make, backend, multiplexer or program; `untrusted`; `exists`;
/// `invalid_value`.
pub fn plan(app: &App, request: &LaunchRequest) -> Result<LaunchPlan> {
    plan_for(app, request, || app.read(|tx| resolve_work(app, tx, request)))
}

/// As [`plan`], for this work.
pub(crate) fn plan_for(app: &App, request: &LaunchRequest, work: impl FnOnce() -> Result<Work>) -> Result<LaunchPlan> {
    for (name, value) in &request.env {
        check_variable(name, value)?;
    }
    trust::refuse_tracked_store(app)?;
    trust::require(app)?;
    let Work { task, lane, role: role_name, is_planned, is_claimed } = work()?;
    let role = app.settings.role(&role_name);
    let provider = provider(app, request, &role, lane.as_ref())?;
    let id = match &request.id {
        Some(id) if request.keeps_id => id.clone(),
        id => {
            app.read(|tx| session_id::choose(app, tx, id.as_ref(), request.id_base.as_ref(), &role_name, &provider))?
        }
    };
    let entry = app.settings.provider(provider.as_str());
    let located = backend(app, request, &role, lane.as_ref(), &entry)?;
    check_multiplexer(app, &located)?;
    let structured = structured::plan(app, request, &located, &provider, &entry)?;
    let setup = role.setup.clone().with_fallback(entry.setup.clone());
    if let (None, Some(lane)) = (&request.worktree, &lane) {
        let words = ["session", "launch", "--role", role_name.as_str(), "--lane", lane.name.as_str()];
        other_host::refuse_lane(app, lane, &words)?;
    }
    let worktree = worktree(app, request, lane.as_ref())?;
    let is_made_by_launch = !worktree.is_dir();
    if !is_planned && setup.pre_start.as_ref().is_none_or(Vec::is_empty) {
        check_worktree(app, request, lane.as_ref(), &worktree)?;
    }
    let sandbox = sandbox::class(app, request, &role, lane.as_ref())?;
    let transcript = transcript(app, request, &id)?;
    let home = || Refusal::invalid("the environment", "has no home directory; set HOME or XDG_STATE_HOME");
    let state = adapters::state_dir(&app.env).ok_or_else(home)?;
    let branch = branch(request, lane.as_ref(), task.as_ref())
        .or_else(|| Git::new(app.env.vars(), &worktree).branch().filter(|_| !is_made_by_launch));
    let now = app.env.now();
    let local = host::identity();
    let session = Session {
        lane: lane.as_ref().map(|lane| lane.name.clone()),
        task: request.task.clone(),
        provider: Some(provider.clone()),
        backend: Some(located.backend.clone()),
        session_name: Some(adapters::session_name(&id, located.built_in, &adapters::project_part(&app.project.store))),
        host: local.name,
        host_id: local.id,
        transcript: Some(path_text("transcript", &transcript)?),
        worktree: Some(path_text("worktree", &worktree)?),
        branch,
        adapter_script: Some(path_text("backend", &located.script)?),
        adapter_state: Some(path_text("the state directory of backend scripts", &state)?),
        sandbox: Some(sandbox),
        ..Session::new(id, app.env.ids.uuid(now).into(), role_name, SessionStatus::Starting, now)
    };
    let agent_env = structured.as_ref().map(|structured| structured.env.clone()).unwrap_or_default();
    let requested = requested_env(request, &role, &entry, &agent_env)?;
    let structured = structured.map(|structured| structured.with_proof(app, &provider, &requested, &worktree));
    let requested_id = request.id.clone().filter(|requested| *requested != session.id);
    let mut notes: Vec<String> =
        requested_id.iter().map(|old| format!("session {old} has ended; the new session is {}", session.id)).collect();
    notes.extend(app.read(|tx| match &lane {
        Some(lane) if is_claimed => Ok(notes::other_sessions(app, tx, &session, lane)?.into_iter().collect()),
        lane => notes::collect(app, tx, &session, task.as_ref(), lane.as_ref()),
    })?);
    if is_made_by_launch && !is_planned {
        notes.push(format!("the worktree {} is not there yet: pre_start makes it", worktree.display()));
    }
    // The signs of a screen, and the command for a terminal, mean nothing without one.
    let settings = match &structured {
        Some(_) => ProgramSettings::default(),
        None => program_settings(request, &role, &entry, &provider),
    };
    let chosen = match &structured {
        Some(structured) => structured.program.clone(),
        None => program::choose(app, request.command.as_ref(), settings.command.as_deref(), &provider),
    };
    program::check(app, &chosen, &requested, &worktree, &mut notes)?;
    let has_own_command = request.command.is_some() && request.provider.is_none();
    let (settings, dropped) = program::drop_unmeant_readiness(settings, has_own_command, &chosen, &provider);
    notes.extend(dropped);
    let input = ProfileInput {
        app,
        request,
        provider: &provider,
        entry: &entry,
        settings: &settings,
        env: &requested,
        worktree: &worktree,
        is_local: located.built_in.is_some(),
        is_sandboxed: sandbox != SandboxClass::Off,
    };
    let profiled = match &structured {
        // The agent takes prompts and resumes by the protocol, and its questions are judged with or without hooks.
        Some(_) => ProfiledProgram {
            program: chosen,
            hooks: LaunchHooks { are_judged: true, ..LaunchHooks::default() },
            prompt_by_hook: true,
        },
        None => profile::apply(&input, chosen, &mut notes)?,
    };
    let chosen = profiled.program;
    let prompt = request.prompt.as_deref().map(program::validate_prompt).transpose()?;
    let (first_prompt, prompt) = if profiled.prompt_by_hook { (prompt, None) } else { (None, prompt) };
    let prompted = program::with_prompt(chosen.clone(), settings.prompt.unwrap_or(PromptDelivery::Nudge), prompt)?;
    let (program, network) = match sandbox {
        SandboxClass::Off => (prompted.program, None),
        class => {
            let network = app.settings.sandbox.network;
            let work = SandboxedWork { lane: lane.as_ref(), provider: &provider, is_planned, class, network };
            sandbox::check(app, request, &work)?;
            // In another class the network is the promise of its program.
            let known = (class == SandboxClass::Namespace).then_some(network);
            (sandbox::wrap(app, prompted.program, &work, &requested)?, known)
        }
    };
    let mut all = session_env(app, &session, requested)?;
    if let Some((path, _)) = &profiled.hooks.file {
        all.insert(vars::FAIRWAY_LAUNCH_HOOKS.to_owned(), path_text("the hooks' settings file", path)?);
    }
    let git_hooks = git_hooks::directory(app, &session.role, &worktree)?;
    if let Some(directory) = &git_hooks {
        path_text("the directory of the git hooks", directory)?;
        all.extend(git_hooks::variables(app, directory, &all));
    }
    // The built-in scripts start the argv, which needs the variable only where the program reads it.
    let is_set = located.built_in.is_none() || prompted.reads_prompt_var;
    all.extend(prompted.prompt_var.filter(|_| is_set).map(|prompt| (PROMPT_VAR.to_owned(), prompt)));
    let backend =
        session.backend.as_ref().and_then(|name| app.settings.backends.get(name)).cloned().unwrap_or_default();
    let start = StartConfig {
        work_dir: session.worktree.clone(),
        command: Some(program.shell_text),
        argv: program.argv,
        env: Some(all.clone()),
        process_names: settings.process_names,
        nudge: prompted.typed_prompt,
        ready_prompt_prefix: settings.ready_prompt_prefix,
        ready_delay_ms: settings.ready_delay_ms,
        pre_start: setup.pre_start,
        session_setup: setup.session_setup,
        session_setup_script: setup_script(app, setup.session_setup_script)?,
        session_live: setup.session_live,
        terminal: terminal_size(app, &located),
        transcript: session.transcript.clone(),
        session_id: Some(session.id.to_string()),
        run_id: Some(session.run_id.to_string()),
        structured: structured.map(|structured| structured.start),
        ..StartConfig::default()
    };
    let timeout = app.settings.sessions.launch_timeout + additional_timeout(&start);
    let environment = all.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    Ok(LaunchPlan {
        session,
        requested_id,
        located,
        state_dir: state,
        start,
        command: chosen.shell_text,
        environment,
        socket: backend.socket.map(|socket| socket_path(app, &socket)).transpose()?,
        setup: backend.setup.unwrap_or_default(),
        timeout,
        first_prompt,
        network,
        hooks: profiled.hooks,
        known_hooks: request.hooks,
        git_hooks,
        has_prompt: request.prompt.is_some(),
        notes,
        purpose: Purpose::Launch,
        own: OwnParts { command: request.command.is_some(), env: request.env.keys().cloned().collect() },
    })
}

/// The time that a start may take beyond `launch_timeout`: 30 s for each readiness check and each setup command.
fn additional_timeout(start: &StartConfig) -> Duration {
    const EACH: Duration = Duration::from_secs(30);
    let commands = [&start.pre_start, &start.session_setup, &start.session_live];
    let steps = commands.into_iter().map(|commands| commands.as_ref().map_or(0, Vec::len)).sum::<usize>()
        + usize::from(start.process_names.is_some())
        + usize::from(start.ready_prompt_prefix.is_some())
        + usize::from(start.session_setup_script.is_some());
    let delay = Duration::from_millis(start.ready_delay_ms.unwrap_or_default())
        + start.structured.as_ref().map_or(Duration::ZERO, |_| structured::SETUP_TIMEOUT);
    EACH.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX)).saturating_add(delay)
}

/// The setup script's file, which must exist and be writable by this user only.
fn setup_script(app: &App, configured: Option<String>) -> Result<Option<String>, Refusal> {
    let Some(configured) = configured else { return Ok(None) };
    let path = normalize(&app.project.root.join(&configured));
    if !path.is_file() {
        return Err(Refusal::not_found("setup script", path.display().to_string()));
    }
    adapters::check_permissions(&path)?;
    path_text("session_setup_script", &path).map(Some)
}

/// A socket as scripts receive it: `default`, or an absolute path.
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
