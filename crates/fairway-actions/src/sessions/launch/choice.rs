//! The decisions of a launch: its work, provider, backend and session id, and its place, which is the worktree, branch,
//! sandbox, transcript and the backend's state.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Result;

use super::program::{self, SHELL};
use super::request::LaunchRequest;
use super::structured::{self, StructuredLaunch};
use super::{sandbox, session_id};
use crate::App;
use crate::core::{lookup, other_host};
use crate::queue::lane::checkout::{self, Presence};
use fairway_core::adapters::{self, BackendSource, ResolvedBackend, builtin_scripts};
use fairway_core::config::project::normalize;
use fairway_core::config::{ProgramSettings, ProviderSettings, RoleSettings, SessionMode};
use fairway_core::domain::id::Label;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::task::Task;
use fairway_core::domain::{Refusal, Role, SessionId};
use fairway_core::env::vars;
use fairway_core::os::git::Git;
use fairway_core::os::{executable as files, user};
use fairway_core::store::ReadTx;

/// The task, the lane and the role of a launch.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) task: Option<Task>,
    pub(crate) lane: Option<Lane>,
    pub(crate) role: Role,
    /// Whether the task and the lane may be planned only, so that the worktree need not exist.
    pub(crate) is_planned: bool,
    /// Whether the launch claims the task. The claim then reports by itself what prevents it.
    pub(crate) is_claimed: bool,
}

/// The program of a launch and its work: role, provider, backend, id.
pub(super) struct Choice {
    pub work: Work,
    /// The settings of the role.
    pub role: RoleSettings,
    pub provider: Label,
    /// The settings of the provider, with its built-in profile.
    pub entry: ProviderSettings,
    pub id: SessionId,
    pub backend: ResolvedBackend,
    /// The launch without a terminal, when the backend is `acp`.
    pub structured: Option<StructuredLaunch>,
}

impl Choice {
    /// Chooses the provider, session id and backend for `work`.
    ///
    /// # Errors
    /// `exists` for the id of a live session; `not_found` for a backend or its multiplexer; `usage` when the provider does not
    /// speak the protocol that the backend needs.
    pub(super) fn of(app: &App, request: &LaunchRequest, work: Work) -> Result<Self> {
        let role = app.settings.role(&work.role);
        let provider = provider(app, request, &role, work.lane.as_ref())?;
        let id = session_id(app, request, &work.role, &provider)?;
        let entry = app.settings.provider(provider.as_str());
        let backend = backend(app, request, &role, work.lane.as_ref(), &entry)?;
        check_multiplexer(app, &backend)?;
        let structured = structured::plan(app, request, &backend, &provider, &entry)?;
        Ok(Self { work, role, provider, entry, id, backend, structured })
    }

    /// The program settings of the provider, with the role's command. That counts only when the launch uses the role's provider or,
    /// for a role without a provider, when the request names none.
    pub(super) fn program_settings(&self, request: &LaunchRequest) -> ProgramSettings {
        let is_roles = match &self.role.provider {
            Some(own) => *own == self.provider,
            None => request.provider.is_none(),
        };
        let own = self.role.command.clone().filter(|_| is_roles);
        let settings = self.entry.program.clone();
        ProgramSettings { command: own.or(settings.command), ..settings }
    }
}

/// Finds the task, lane and role of a launch. The lane is the requested one, else that of the requested role, else the task's;
/// the role is the requested one, else the lane's, else the task's.
///
/// # Errors
/// `not_found` for a task or lane; `usage` without a role.
pub(super) fn resolve_work(app: &App, tx: &ReadTx<'_>, request: &LaunchRequest) -> Result<Work> {
    let task = request.task.as_ref().map(|id| lookup::task(tx, id)).transpose()?;
    let of_role = || app.settings.role(request.role.as_ref()?).lane;
    let of_task = || task.as_ref()?.fields.lane.clone();
    let lane = request.lane.clone().or_else(of_role).or_else(of_task);
    let lane = lane.map(|name| lookup::lane(tx, &name)).transpose()?;
    let of_lane = || lane.as_ref()?.role.clone();
    let role = request.role.clone().or_else(of_lane).or_else(|| task.as_ref()?.fields.role.clone());
    match role {
        Some(role) => Ok(Work { task, lane, role, is_planned: false, is_claimed: false }),
        None => Err(Refusal::NoLaunchRole { lane: lane.map(|lane| lane.name) }.into()),
    }
}

/// The requested provider, else the known one whose name the requested program has, else that of the role or the lane.
fn provider(app: &App, request: &LaunchRequest, role: &RoleSettings, lane: Option<&Lane>) -> Result<Label, Refusal> {
    let named = || {
        let name = program::name_of(request.command.as_ref()?)?;
        app.settings.knows_provider(&name).then(|| Label::parse(&name).ok()).flatten()
    };
    let configured =
        request.provider.clone().or_else(named).or_else(|| role.provider.clone()).or_else(|| lane?.provider.clone());
    Ok(configured.map_or_else(|| Label::parse(SHELL), Ok)?)
}

fn backend(
    app: &App,
    request: &LaunchRequest,
    role: &RoleSettings,
    lane: Option<&Lane>,
    entry: &ProviderSettings,
) -> Result<ResolvedBackend, Refusal> {
    let (name, source) = match &request.backend {
        Some(name) => (name.clone(), BackendSource::Flag),
        None if request.structured => (builtin_scripts::STRUCTURED.to_owned(), BackendSource::Flag),
        None => {
            let of_mode = || match entry.mode? {
                SessionMode::Structured => Some(builtin_scripts::STRUCTURED.to_owned()),
                SessionMode::Terminal => None,
            };
            let configured = role.backend.clone().or_else(|| lane?.backend.clone()).or_else(of_mode);
            (configured.unwrap_or_else(|| app.settings.sessions.default_backend.clone()), BackendSource::Project)
        }
    };
    adapters::resolve_backend(&name, source, &app.env, &app.project.root, &app.settings.backends)
}

fn session_id(app: &App, request: &LaunchRequest, role: &Role, provider: &Label) -> Result<SessionId> {
    match &request.id {
        Some(id) if request.keeps_id => Ok(id.clone()),
        id => app.read(|tx| session_id::choose(app, tx, id.as_ref(), request.id_base.as_ref(), role, provider)),
    }
}

/// Checks that the multiplexer of a built-in backend is installed.
fn check_multiplexer(app: &App, located: &ResolvedBackend) -> Result<(), Refusal> {
    let Some(program) = located.built_in.and_then(|built_in| built_in.multiplexer) else { return Ok(()) };
    let path = app.env.var_os(vars::PATH).map(OsString::as_os_str);
    match files::find(program, path, &app.env.cwd) {
        Some(_) => Ok(()),
        None => Err(Refusal::not_found("multiplexer", program)),
    }
}

/// Where a session will work.
pub(super) struct Place {
    pub worktree: PathBuf,
    /// Whether the worktree exists; otherwise the launch makes it.
    pub is_there: bool,
    pub branch: Option<String>,
    pub sandbox: SandboxClass,
    pub transcript: PathBuf,
    /// The directory where backend scripts keep their state.
    pub backend_state: PathBuf,
}

impl Place {
    /// Decides the worktree, the branch, the sandbox, the transcript and the directory of the backend's state for a launch.
    ///
    /// # Errors
    /// `lane_elsewhere` for a lane with its worktree on another host; `not_found` and `worktree_missing` for a worktree that
    /// does not exist and that no `pre_start` command makes; `sandbox_required`; `invalid_value` for the transcript.
    pub(super) fn of(app: &App, request: &LaunchRequest, choice: &Choice) -> Result<Self> {
        let work = &choice.work;
        let lane = work.lane.as_ref();
        if let (None, Some(lane)) = (&request.worktree, lane) {
            let words = ["session", "launch", "--role", work.role.as_str(), "--lane", lane.name.as_str()];
            other_host::refuse_lane(app, lane, &words)?;
        }
        let worktree = worktree(app, request, lane)?;
        let is_there = worktree.is_dir();
        let makes_worktree = !choice.role.setup.pre_start.is_empty();
        if !work.is_planned && !makes_worktree {
            check_worktree(app, request, lane, &worktree)?;
        }
        let sandbox = sandbox::class(app, request, &choice.role, lane)?;
        let transcript = transcript(app, request, &choice.id)?;
        let home = || Refusal::invalid("the environment", "has no home directory; set HOME or XDG_STATE_HOME");
        let backend_state = adapters::state_dir(&app.env).ok_or_else(home)?;
        let configured =
            request.branch.clone().or_else(|| lane?.branch.clone()).or_else(|| work.task.as_ref()?.branch.clone());
        let branch = configured.or_else(|| Git::new(app.env.vars(), &worktree).branch().filter(|_| is_there));
        Ok(Self { worktree, is_there, branch, sandbox, transcript, backend_state })
    }
}

fn worktree(app: &App, request: &LaunchRequest, lane: Option<&Lane>) -> Result<PathBuf, Refusal> {
    let configured = match &request.worktree {
        Some(dir) => app.env.cwd.join(dir),
        None => lane.and_then(|lane| lane.worktree.as_ref()).map_or_else(|| app.project.root.clone(), PathBuf::from),
    };
    let dir = normalize(&configured);
    if dir.exists() && !dir.is_dir() {
        return Err(Refusal::not_found("worktree", dir.display().to_string()));
    }
    Ok(dir)
}

/// Checks that the worktree exists. Called for a launch without `pre_start` commands, which would make one.
fn check_worktree(app: &App, request: &LaunchRequest, lane: Option<&Lane>, worktree: &Path) -> Result<(), Refusal> {
    if let (None, Some(lane)) = (&request.worktree, lane) {
        if let Presence::Missing(dir) = checkout::presence(app, lane) {
            return Err(Refusal::WorktreeMissing { lane: lane.name.clone(), dir: dir.display().to_string() });
        }
        checkout::refuse_damaged(app, lane)?;
    }
    if worktree.is_dir() { Ok(()) } else { Err(Refusal::not_found("worktree", worktree.display().to_string())) }
}

/// The transcript's path. The file must be writable, as far as that is known without writing.
fn transcript(app: &App, request: &LaunchRequest, id: &SessionId) -> Result<PathBuf, Refusal> {
    let invalid = |why: String| Refusal::Invalid { what: "transcript", why };
    let path = match &request.transcript {
        Some(path) => normalize(&app.project.root.join(path)),
        None => {
            let dir = app.project.state.join("transcripts");
            // A cloned repository may contain one with any target.
            if dir.is_symlink() {
                return Err(invalid(format!("{} is a symbolic link", dir.display())));
            }
            dir.join(format!("{id}.log"))
        }
    };
    match fs::symlink_metadata(&path) {
        Ok(found) if !found.is_file() => return Err(invalid(format!("{} is not a file", path.display()))),
        Ok(found) if found.uid() != user::uid() => {
            return Err(invalid(format!("{} belongs to another user", path.display())));
        }
        Ok(_) if files::is_writable(&path) => return Ok(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let dir = path.ancestors().skip(1).find(|dir| dir.exists());
            if dir.is_some_and(|dir| dir.is_dir() && files::is_writable(dir)) {
                return Ok(path);
            }
        }
        Ok(_) | Err(_) => {}
    }
    Err(invalid(format!("{} is not writable", path.display())))
}
