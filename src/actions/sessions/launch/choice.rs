//! The choice of a launch: for which work, which provider runs, in which backend, and as which session.

use std::ffi::OsString;

use anyhow::Result;

use super::{
    program::{self, SHELL},
    request::LaunchRequest,
    session_id,
    structured::{self, StructuredLaunch},
};
use crate::{
    actions::{App, core::lookup},
    adapters::{self, BackendSource, ResolvedBackend, builtin_scripts},
    config::{ProgramSettings, ProviderSettings, RoleSettings, SessionMode, SetupSettings},
    domain::{Refusal, Role, SessionId, id::Label, lane::Lane, task::Task},
    env::vars,
    os::executable as files,
    store::ReadTx,
};

/// The task, the lane and the role of a launch.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) task: Option<Task>,
    pub(crate) lane: Option<Lane>,
    pub(crate) role: Role,
    /// Whether task and lane may be planned only: the worktree need not be there.
    pub(crate) is_planned: bool,
    /// Whether the launch claims the task: the claim says itself what bars it.
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
    /// The session's id.
    pub id: SessionId,
    pub backend: ResolvedBackend,
    /// The launch without a terminal, when the backend is for that.
    pub structured: Option<StructuredLaunch>,
    pub setup: SetupSettings,
}

impl Choice {
    /// The choice for this work.
    ///
    /// # Errors
    /// `exists` for the id of a live session; `not_found` for a backend or its multiplexer; `usage` when the provider does not speak
    /// the protocol that the backend needs.
    pub(super) fn of(app: &App, request: &LaunchRequest, work: Work) -> Result<Self> {
        let role = app.settings.role(&work.role);
        let provider = provider(app, request, &role, work.lane.as_ref())?;
        let id = session_id(app, request, &work.role, &provider)?;
        let entry = app.settings.provider(provider.as_str());
        let backend = backend(app, request, &role, work.lane.as_ref(), &entry)?;
        check_multiplexer(app, &backend)?;
        let structured = structured::plan(app, request, &backend, &provider, &entry)?;
        let setup = role.setup.clone().with_fallback(entry.setup.clone());
        Ok(Self { work, role, provider, entry, id, backend, structured, setup })
    }

    /// The program settings of the role, with the provider's as fallback. A role's settings are made for the role's provider: they are
    /// ignored for another one.
    pub(super) fn program_settings(&self, request: &LaunchRequest) -> ProgramSettings {
        let is_roles = match &self.role.provider {
            Some(own) => *own == self.provider,
            None => request.provider.is_none(),
        };
        let above = if is_roles { self.role.program.clone() } else { ProgramSettings::default() };
        above.with_fallback(self.entry.program.clone())
    }
}

/// The task, the lane and the role: the requested role, else the lane's, else the task's.
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

/// The provider: the requested one, else the known one that the requested program is named like, else that of the role or the
/// lane.
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
