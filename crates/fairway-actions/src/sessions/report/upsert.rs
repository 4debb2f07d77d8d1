//! Registering a session, or updating a registered one.

use std::path::Path;

use anyhow::Result;

pub(crate) use super::local_host::LocalHost;

use crate::core::{lookup, session_events};
use crate::sessions::new_id::new_id;
use crate::sessions::prompt;
use crate::{Answer, App};
use fairway_core::adapters::tmux_panes;
use fairway_core::config::project::normalize;
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::session_machine::{self, Report, SessionEvent, UPSERT_SOURCE};
use fairway_core::domain::session::{Activity, Session, SessionStatus};
use fairway_core::domain::{LaneName, Refusal, Role, RunId, SessionId, TaskId, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::os::host::HostIdentity;
use fairway_core::os::process::ProcessKey;
use fairway_core::store::sessions::{self, Endpoint};
use fairway_core::store::{ReadTx, WriteTx, tasks};
use fairway_core::wire::SessionView;

/// The reported fields of a session; a field that is `None` stays unchanged.
#[derive(Debug, Clone, Default)]
pub struct SessionPatch {
    pub id: Option<SessionId>,
    /// Its role; required for a new session.
    pub role: Option<Role>,
    pub lane: Option<LaneName>,
    pub task: Option<TaskId>,
    pub provider: Option<Label>,
    pub backend: Option<String>,
    /// Its name in the backend.
    pub backend_name: Option<String>,
    /// The provider's own id for it.
    pub external_session_id: Option<String>,
    /// Its root process, on this host.
    pub pid: Option<i64>,
    /// The multiplexer's pane.
    pub pane: Option<String>,
    /// The multiplexer's socket.
    pub socket: Option<String>,
    /// The transcript; relative to the project's root.
    pub transcript: Option<String>,
    /// The worktree; relative to the working directory.
    pub worktree: Option<String>,
    pub branch: Option<String>,
    pub activity: Option<Activity>,
    /// Its status: starting, running or stale.
    pub status: Option<SessionStatus>,
    pub started_at: Option<Timestamp>,
    pub run_id: Option<RunId>,
}

/// Updates the reported fields of the matching session, or registers a new one. A report of the activity `idle` also delivers the
/// queued messages of the session.
///
/// # Errors
/// `session_final`; `session_mismatch` for another session run, an external id of another live session, or a return to
/// starting; `not_found` for lane and task; `ambiguous` when several sessions share the endpoint; `usage` for a new session
/// without a role; `invalid_value`.
pub fn upsert(app: &App, patch: &SessionPatch) -> Result<Answer> {
    validate(patch)?;
    // Read before the transaction, like everything outside of the store.
    let process = patch.pid.map(process_key).transpose()?;
    let mut patch = patch.clone();
    let server = pane_server(app, &patch)?;
    // Later calls come without this environment.
    patch.socket = patch.socket.or_else(|| server.as_ref().and_then(|_| tmux_panes::surrounding_socket(&app.env)));
    let (patch, local) = (&patch, LocalHost { server, ..LocalHost::read(process) });
    let answer = app.mutate_unattributed(|tx| {
        let is_own = app.actor.session.is_none() || patch.id.is_none() || patch.id == app.actor.session;
        let found = find_target(app, tx, patch, &local.host)?;
        if let Some(actor) = &app.actor.session
            && !is_own
        {
            session_events::acted(tx, &lookup::session(tx, actor)?, app.actor.run_id.as_ref())?;
        }
        if app.actor.session.is_some() {
            tasks::renew_leases(tx, &app.actor.name, None)?;
        }
        check_references(tx, patch)?;
        match found {
            Some(session) => update(app, tx, patch, &session, &local),
            None => create(app, tx, patch, is_own, &local),
        }
    })?;
    Ok(prompt::deliver_when_idle(app, patch.activity, answer))
}

/// The tmux server of the reported pane, which distinguishes the pane from one with the same id in a later server. `None` when
/// the server does not answer, and for other backends.
fn pane_server(app: &App, patch: &SessionPatch) -> Result<Option<ProcessKey>> {
    let Some(pane) = &patch.pane else { return Ok(None) };
    let backend = match (&patch.backend, patch.id.as_ref().or(app.actor.session.as_ref())) {
        (Some(backend), _) => Some(backend.clone()),
        (None, Some(id)) => app.read(|tx| Ok(sessions::find(tx, id)?))?.and_then(|session| session.backend),
        (None, None) => None,
    };
    if backend.as_deref() != Some(tmux_panes::BACKEND) {
        return Ok(None);
    }
    Ok(tmux_panes::list_panes(&app.env, patch.socket.as_deref())
        .ok()
        .filter(|found| found.has(pane))
        .map(|found| found.server))
}

fn process_key(pid: i64) -> Result<ProcessKey, Refusal> {
    let key = i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(ProcessKey::of);
    key.ok_or_else(|| Refusal::invalid("pid", format!("{pid} is not a running process on this host")))
}

pub(crate) fn validate(patch: &SessionPatch) -> Result<(), Refusal> {
    for (what, value) in [
        ("backend", &patch.backend),
        ("name", &patch.backend_name),
        ("external-session-id", &patch.external_session_id),
        ("pane", &patch.pane),
        ("socket", &patch.socket),
        ("transcript", &patch.transcript),
        ("worktree", &patch.worktree),
        ("branch", &patch.branch),
    ] {
        if let Some(value) = value
            && text_limits::check_line(what, value)?.contains(['\n', '\t'])
        {
            return Err(Refusal::invalid(what, "must be one line"));
        }
    }
    if patch.status.is_some_and(SessionStatus::is_final) {
        return Err(Refusal::invalid(
            "status",
            "must be starting, running or stale; to end a session: fairway session end",
        ));
    }
    Ok(())
}

pub(crate) fn check_references(tx: &ReadTx<'_>, patch: &SessionPatch) -> Result<()> {
    if let Some(lane) = &patch.lane {
        lookup::lane(tx, lane)?;
    }
    if let Some(task) = &patch.task {
        lookup::task(tx, task)?;
    }
    Ok(())
}

/// Finds the session of a patch: by its id, by the acting session, by the provider's id, or by its endpoint.
fn find_target(app: &App, tx: &ReadTx<'_>, patch: &SessionPatch, host: &HostIdentity) -> Result<Option<Session>> {
    if let Some(id) = patch.id.as_ref().or(app.actor.session.as_ref()) {
        return Ok(sessions::find(tx, id)?);
    }
    if let (Some(provider), Some(external)) = (&patch.provider, &patch.external_session_id)
        && let Some(session) = sessions::by_external(tx, provider, external)?
    {
        return Ok(Some(session));
    }
    let Some(backend) = &patch.backend else { return Ok(None) };
    let (socket, pane, name) = (patch.socket.as_deref(), patch.pane.as_deref(), patch.backend_name.as_deref());
    let at = Endpoint { host, backend, socket, pane, name };
    let mut found = sessions::by_endpoint(tx, &at)?;
    // A pane outlives its program: another session run, provider or conversation in it is another session.
    found.retain(|session| is_same_conversation(session, patch));
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        several => {
            let id = pane.or(name).unwrap_or_default().to_owned();
            let found = several.iter().map(|session| session.id.to_string()).collect();
            Err(Refusal::Ambiguous { noun: "session", id, found }.into())
        }
    }
}

fn is_same_conversation(session: &Session, patch: &SessionPatch) -> bool {
    agrees(session.provider.as_ref(), patch.provider.as_ref())
        && agrees(session.external_session_id.as_ref(), patch.external_session_id.as_ref())
        && agrees(Some(&session.run_id), patch.run_id.as_ref())
}

/// Whether a recorded value and a reported one may belong to one session. A missing value agrees with any other.
pub(super) fn agrees<T: PartialEq>(recorded: Option<&T>, reported: Option<&T>) -> bool {
    recorded.is_none() || reported.is_none() || recorded == reported
}

fn create(app: &App, tx: &WriteTx<'_>, patch: &SessionPatch, is_own: bool, local: &LocalHost) -> Result<Answer> {
    let given = patch.id.as_ref().or(app.actor.session.as_ref());
    let session = new_session(app, tx, patch, given, is_own, local, tx.now())?;
    session_events::register(tx, &session)?;
    let line = format!("new session {}: {}", session.id, session.status);
    Answer::new(&SessionView::from(&session), &session.id, line)
}

/// Makes a new session from a patch without storing it. `given` is the id that the caller named; without one the session gets a
/// new id. With `is_own` it is the acting session, and its role and run may come from the environment.
///
/// # Errors
/// `usage` without a role; `session_mismatch` when its run or external id belongs to another live session.
pub(crate) fn new_session(
    app: &App,
    tx: &ReadTx<'_>,
    patch: &SessionPatch,
    given: Option<&SessionId>,
    is_own: bool,
    local: &LocalHost,
    now: Timestamp,
) -> Result<Session> {
    // The environment describes the acting session, not another one.
    let Some(role) = patch.role.clone().or_else(|| app.actor.role.clone().filter(|_| is_own)) else {
        let missing = given.map(|id| format!("session {id} does not exist; ")).unwrap_or_default();
        return Err(Refusal::Usage { why: format!("{missing}a new session requires --role") }.into());
    };
    let id = match given {
        Some(id) => id.clone(),
        None => new_id(app, tx, &role, patch.provider.as_ref())?,
    };
    let own_run = app.actor.run_id.as_ref().filter(|_| is_own && app.actor.session.is_some());
    let run_id = match (&patch.run_id, own_run) {
        (Some(run_id), _) => run_id.clone(),
        (None, Some(run_id)) if run_id.is_usable() => run_id.clone(),
        (None, Some(_)) => return Err(Refusal::invalid("FAIRWAY_RUN_ID", "is not a UUID").into()),
        (None, None) => app.env.ids.uuid(now).into(),
    };
    if let Some(other) = sessions::by_run_id(tx, &run_id)? {
        let why = format!("session run {run_id} belongs to session {}", other.id);
        return Err(Refusal::SessionMismatch { why }.into());
    }
    let blank = Session {
        host: local.host.name.clone(),
        host_id: local.host.id.clone(),
        last_heartbeat_at: Some(now),
        ..Session::new(id, run_id, role, patch.status.unwrap_or(SessionStatus::Running), now)
    };
    let session = apply_patch(app, patch, &blank, local);
    check_external_id_unused(tx, &session)?;
    let report = Report { activity: patch.activity, ..Report::without_activity(UPSERT_SOURCE, UPSERT_SOURCE) };
    Ok(session_machine::step(&session, &SessionEvent::Seen(report), now)?.after)
}

fn update(app: &App, tx: &WriteTx<'_>, patch: &SessionPatch, session: &Session, local: &LocalHost) -> Result<Answer> {
    let id = &session.id;
    session.check_open()?;
    let is_own = app.actor.session.as_ref() == Some(id);
    let own_run = app.actor.run_id.as_ref().filter(|_| is_own);
    session.check_run_id(patch.run_id.as_ref().or(own_run))?;
    let facts = apply_patch(app, patch, session, local);
    check_external_id_unused(tx, &facts)?;
    let (status, activity) = (patch.status, patch.activity);
    let registered = SessionEvent::Upserted { facts: &facts, status, activity, acts: is_own };
    let after = session_events::apply(tx, session, &registered)?;
    let fields = session_machine::changed_fields(session, &after);
    let line = match (fields.as_slice(), after.status == session.status) {
        ([], true) => format!("unchanged: {id} is {}", after.status),
        ([], false) => format!("{id} is {}", after.status),
        (fields, true) => format!("updated {id}: {}", fields.join(", ")),
        (fields, false) => format!("updated {id}: {}; status {}", fields.join(", "), after.status),
    };
    Answer::new(&SessionView::from(&after), id, line)
}

/// Returns the session with the reported fields. Status and activity are left to the caller.
pub(crate) fn apply_patch(app: &App, patch: &SessionPatch, session: &Session, local: &LocalHost) -> Session {
    fn or_existing<T: Clone>(reported: Option<&T>, recorded: Option<&T>) -> Option<T> {
        reported.or(recorded).cloned()
    }
    let under = |base: &Path, path: &String| normalize(&base.join(path)).to_string_lossy().into_owned();
    let transcript = patch.transcript.as_ref().map(|path| under(&app.project.root, path));
    let worktree = patch.worktree.as_ref().map(|path| under(&app.env.cwd, path));
    let mut after = Session {
        role: patch.role.clone().unwrap_or_else(|| session.role.clone()),
        lane: or_existing(patch.lane.as_ref(), session.lane.as_ref()),
        task: or_existing(patch.task.as_ref(), session.task.as_ref()),
        provider: or_existing(patch.provider.as_ref(), session.provider.as_ref()),
        backend: or_existing(patch.backend.as_ref(), session.backend.as_ref()),
        session_name: or_existing(patch.backend_name.as_ref(), session.session_name.as_ref()),
        external_session_id: or_existing(patch.external_session_id.as_ref(), session.external_session_id.as_ref()),
        pane: or_existing(patch.pane.as_ref(), session.pane.as_ref()),
        socket: or_existing(patch.socket.as_ref(), session.socket.as_ref()),
        transcript: or_existing(transcript.as_ref(), session.transcript.as_ref()),
        worktree: or_existing(worktree.as_ref(), session.worktree.as_ref()),
        branch: or_existing(patch.branch.as_ref(), session.branch.as_ref()),
        started_at: patch.started_at.unwrap_or(session.started_at),
        ..session.clone()
    };
    if let Some(process) = &local.process {
        after.pid = Some(i64::from(process.pid));
        after.pid_started = i64::try_from(process.started).ok();
    }
    if patch.pane.is_some() || patch.socket.is_some() {
        after.server_pid = local.server.as_ref().map(|server| i64::from(server.pid));
        after.server_started = local.server.as_ref().and_then(|server| i64::try_from(server.started).ok());
    }
    if local.process.is_some() || patch.pane.is_some() || patch.socket.is_some() {
        // A reported process or pane belongs to this host and this boot.
        after.host.clone_from(&local.host.name);
        after.host_id.clone_from(&local.host.id);
        after.boot_id.clone_from(&local.boot_id);
        let is_same_host = local.host.owns(&session.host, session.host_id.as_deref());
        if local.process.is_none() && !(is_same_host && session.boot_id == after.boot_id) {
            (after.pid, after.pid_started) = (None, None);
        }
    }
    after
}

/// Fails with `session_mismatch` when another live session has the same provider and external id: both cannot be one
/// conversation.
pub(crate) fn check_external_id_unused(tx: &ReadTx<'_>, session: &Session) -> Result<()> {
    let (Some(provider), Some(external)) = (&session.provider, &session.external_session_id) else { return Ok(()) };
    match sessions::by_external(tx, provider, external)? {
        Some(other) if other.id != session.id => {
            let why =
                format!("{provider} session '{external}' is registered as {}, which is {}", other.id, other.status);
            Err(Refusal::SessionMismatch { why }.into())
        }
        _ => Ok(()),
    }
}
