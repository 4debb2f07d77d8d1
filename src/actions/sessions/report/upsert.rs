//! Making a session known, or telling more about one that is.

use std::path::Path;

use anyhow::Result;

pub(in crate::actions) use super::local_host::LocalHost;

use super::activity::kept_waiting_for;
use crate::{
    actions::{
        Answer, App,
        core::{keepalive, lookup},
        sessions::{new_id::new_id, prompt},
    },
    adapters::tmux_panes,
    config::project::normalize,
    domain::{
        Event, EventKind, LaneName, Refusal, Role, SessionId, TaskId,
        event::EventValue,
        id::Label,
        session::{Activity, Session, SessionStatus},
        text_limits,
    },
    env::Timestamp,
    os::process::ProcessKey,
    store::{
        ReadTx, WriteTx,
        sessions::{self, Endpoint},
        tasks,
    },
    wire::SessionView,
};

/// What is told about a session; what is `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct SessionPatch {
    /// Its id.
    pub id: Option<SessionId>,
    /// Its role; a new one needs it.
    pub role: Option<Role>,
    /// Its lane.
    pub lane: Option<LaneName>,
    /// Its task.
    pub task: Option<TaskId>,
    /// Its provider.
    pub provider: Option<Label>,
    /// Its backend.
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
    /// The branch.
    pub branch: Option<String>,
    /// What it does.
    pub activity: Option<Activity>,
    /// How it stands: starting, running or stale.
    pub status: Option<SessionStatus>,
    /// When it was started.
    pub started_at: Option<Timestamp>,
    /// Its run.
    pub run_id: Option<String>,
}

/// Changes the fields that are told, of the session that is meant, or makes a new one.
///
/// # Errors
/// `session_final`; `session_mismatch` for another run, an external id that another live session has, or the way back to
/// starting; `not_found` for lane and task; `ambiguous` when an endpoint has several; `usage` for a new one without a
/// role; `invalid_value`.
pub fn upsert(app: &App, told: &SessionPatch) -> Result<Answer> {
    validate(told)?;
    // Looked at before the transaction, like everything outside.
    let process = told.pid.map(process_key).transpose()?;
    let local = LocalHost { server: pane_server(app, told)?, ..LocalHost::read(process) };
    let answer = app.mutate_unattributed(|tx| {
        let own = app.actor.session.is_none() || told.id.is_none() || told.id == app.actor.session;
        let found = find_target(app, tx, told, &local.host)?;
        if let Some(actor) = &app.actor.session
            && !own
        {
            keepalive::touch(tx, &lookup::session(tx, actor)?, app.actor.run_id.as_deref())?;
        }
        if app.actor.session.is_some() {
            tasks::renew_leases(tx, &app.actor.name, None)?;
        }
        check_references(tx, told)?;
        match found {
            Some(session) => update(app, tx, told, &session, &local),
            None => create(app, tx, told, own, &local),
        }
    })?;
    Ok(prompt::deliver_when_idle(app, told.activity, answer))
}

/// The server of the pane that is told: by it a pane is known from one of the same id in a server that was started later.
/// `None` where it does not answer, or nobody here knows how to ask.
fn pane_server(app: &App, told: &SessionPatch) -> Result<Option<ProcessKey>> {
    let Some(pane) = &told.pane else { return Ok(None) };
    let backend = match (&told.backend, told.id.as_ref().or(app.actor.session.as_ref())) {
        (Some(backend), _) => Some(backend.clone()),
        (None, Some(id)) => app.read(|tx| Ok(sessions::find(tx, id)?))?.and_then(|session| session.backend),
        (None, None) => None,
    };
    if backend.as_deref() != Some(tmux_panes::BACKEND) {
        return Ok(None);
    }
    Ok(tmux_panes::list_panes(&app.env, told.socket.as_deref())
        .ok()
        .filter(|found| found.has(pane))
        .map(|found| found.server))
}

fn process_key(pid: i64) -> Result<ProcessKey, Refusal> {
    let key = i32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(ProcessKey::of);
    key.ok_or_else(|| Refusal::invalid("pid", format!("{pid} is not a running process on this host")))
}

pub(in crate::actions) fn validate(told: &SessionPatch) -> Result<(), Refusal> {
    for (what, value) in [
        ("backend", &told.backend),
        ("name", &told.backend_name),
        ("external-session-id", &told.external_session_id),
        ("pane", &told.pane),
        ("socket", &told.socket),
        ("transcript", &told.transcript),
        ("worktree", &told.worktree),
        ("branch", &told.branch),
    ] {
        if let Some(value) = value
            && text_limits::check_line(what, value)?.contains(['\n', '\t'])
        {
            return Err(Refusal::invalid(what, "must be one line"));
        }
    }
    if told.status.is_some_and(SessionStatus::is_final) {
        return Err(Refusal::invalid("status", "must be starting, running or stale; to end a session: fairway session end"));
    }
    Ok(())
}

pub(in crate::actions) fn check_references(tx: &ReadTx<'_>, told: &SessionPatch) -> Result<()> {
    if let Some(lane) = &told.lane {
        lookup::lane(tx, lane)?;
    }
    if let Some(task) = &told.task {
        lookup::task(tx, task)?;
    }
    Ok(())
}

/// The session that is meant: by its id, by the acting session, by the provider's id, by its endpoint.
fn find_target(app: &App, tx: &ReadTx<'_>, told: &SessionPatch, here: &str) -> Result<Option<Session>> {
    if let Some(id) = told.id.as_ref().or(app.actor.session.as_ref()) {
        return Ok(sessions::find(tx, id)?);
    }
    if let (Some(provider), Some(external)) = (&told.provider, &told.external_session_id)
        && let Some(session) = sessions::by_external(tx, provider, external)?
    {
        return Ok(Some(session));
    }
    let Some(backend) = &told.backend else { return Ok(None) };
    let (socket, pane, name) = (told.socket.as_deref(), told.pane.as_deref(), told.backend_name.as_deref());
    let at = Endpoint { host: here, backend, socket, pane, name };
    let mut found = sessions::by_endpoint(tx, &at)?;
    // A pane outlives its program: another run, provider or conversation in it is another session.
    found.retain(|session| is_same_conversation(session, told));
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

fn is_same_conversation(session: &Session, told: &SessionPatch) -> bool {
    agrees(session.provider.as_ref(), told.provider.as_ref())
        && agrees(session.external_session_id.as_ref(), told.external_session_id.as_ref())
        && agrees(Some(&session.run_id), told.run_id.as_ref())
}

/// Whether a recorded value and a reported one may belong to one session: a missing value agrees with any.
pub(super) fn agrees<T: PartialEq>(recorded: Option<&T>, reported: Option<&T>) -> bool {
    recorded.is_none() || reported.is_none() || recorded == reported
}

fn create(app: &App, tx: &WriteTx<'_>, told: &SessionPatch, own: bool, local: &LocalHost) -> Result<Answer> {
    let given = told.id.as_ref().or(app.actor.session.as_ref());
    let session = new_session(app, tx, told, given, own, local, tx.now())?;
    insert(tx, &session)?;
    let line = format!("new session {}: {}", session.id, session.status);
    Answer::new(&SessionView::from(&session), &session.id, line)
}

/// A session that is to be made, with what is told of it. `given` is the id that it shall have; `own` says whether it is
/// the acting one, of which the surroundings speak.
///
/// # Errors
/// `usage` without a role; `session_mismatch` when its run or external id is another live session's.
pub(in crate::actions) fn new_session(
    app: &App,
    tx: &ReadTx<'_>,
    told: &SessionPatch,
    given: Option<&SessionId>,
    own: bool,
    local: &LocalHost,
    now: Timestamp,
) -> Result<Session> {
    // The surroundings speak of the acting session, not of another one.
    let Some(role) = told.role.clone().or_else(|| app.actor.role.clone().filter(|_| own)) else {
        let missing = given.map(|id| format!("session {id} does not exist; ")).unwrap_or_default();
        return Err(Refusal::Usage { why: format!("{missing}a new session requires --role") }.into());
    };
    let id = match given {
        Some(id) => id.clone(),
        None => new_id(app, tx, &role, told.provider.as_ref())?,
    };
    let own_run = app.actor.run_id.as_deref().filter(|_| own && app.actor.session.is_some());
    let own_run = own_run.map(|run_id| match uuid::Uuid::parse_str(run_id) {
        Ok(run_id) => Ok(run_id.to_string()),
        Err(_) => Err(Refusal::invalid("FAIRWAY_RUN_ID", "is not a UUID")),
    });
    let run_id = match told.run_id.clone().map(Ok).or(own_run).transpose()? {
        Some(run_id) => run_id,
        None => app.env.ids.uuid(now).to_string(),
    };
    if let Some(other) = sessions::by_run_id(tx, &run_id)? {
        let why = format!("session run {run_id} belongs to session {}", other.id);
        return Err(Refusal::SessionMismatch { why }.into());
    }
    let blank = Session {
        host: local.host.clone(),
        last_heartbeat_at: Some(now),
        ..Session::new(id, run_id, role, told.status.unwrap_or(SessionStatus::Running), now)
    };
    let session = apply_patch(app, told, &blank, local, now);
    check_external_id_unused(tx, &session)?;
    Ok(session)
}

/// Adds a session, with its event.
///
/// # Errors
/// As the store fails.
pub(in crate::actions) fn insert(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    sessions::insert(tx, session)?;
    tx.record(
        &Event::new(EventKind::SessionUpserted)
            .session(&session.id, &session.run_id)
            .lane(session.lane.as_ref())
            .with("created", true)
            .with("status", session.status.as_str())
            .with("role", session.role.as_str())
            .with("task_id", session.task.as_ref().map(ToString::to_string))
            .with("provider", session.provider.as_ref().map(ToString::to_string))
            .with("backend", session.backend.as_deref()),
    )?;
    Ok(())
}

fn update(
    app: &App,
    tx: &WriteTx<'_>,
    told: &SessionPatch,
    session: &Session,
    local: &LocalHost,
) -> Result<Answer> {
    let id = &session.id;
    session.check_open()?;
    let own = app.actor.session.as_ref() == Some(id);
    let own_run = app.actor.run_id.as_deref().filter(|_| own);
    session.check_run_id(told.run_id.as_deref().or(own_run))?;
    let mut after = apply_patch(app, told, session, local, tx.now());
    if let Some(status) = told.status {
        after = after.with_reported_status(status)?;
    } else if own {
        after = after.to_running()?;
    }
    check_external_id_unused(tx, &after)?;
    let fields = changed_fields(session, &after);
    if told.status != Some(SessionStatus::Stale) {
        after.last_heartbeat_at = Some(tx.now());
    }
    keepalive::update_session(tx, &after)?;
    if own || told.activity.is_some() {
        prompt::confirm_typed(tx, session)?;
    }
    if after.status != session.status {
        match after.status {
            SessionStatus::Stale => {
                keepalive::record_stale(tx, session, "reported stale")?;
            }
            _ => keepalive::record_running(
                tx,
                session,
                if told.status.is_some() { "reported running" } else { "it acts" },
            )?,
        }
    }
    record_changes(tx, &after, &fields)?;
    let line = match (fields.as_slice(), after.status == session.status) {
        ([], true) => format!("unchanged: {id} is {}", after.status),
        ([], false) => format!("{id} is {}", after.status),
        (fields, true) => format!("updated {id}: {}", fields.join(", ")),
        (fields, false) => format!("updated {id}: {}; status {}", fields.join(", "), after.status),
    };
    let after = lookup::session(tx, id)?;
    Answer::new(&SessionView::from(&after), id, line)
}

/// Records that more is known of a session, when something is.
///
/// # Errors
/// As the store fails.
pub(in crate::actions) fn record_changes(tx: &WriteTx<'_>, after: &Session, fields: &[&'static str]) -> Result<()> {
    if fields.is_empty() {
        return Ok(());
    }
    tx.record(
        &Event::new(EventKind::SessionUpserted)
            .session(&after.id, &after.run_id)
            .lane(after.lane.as_ref())
            .with("changed", EventValue::from(fields.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>())),
    )?;
    Ok(())
}

/// The session with the fields that are told. Its status is decided elsewhere.
pub(in crate::actions) fn apply_patch(
    app: &App,
    told: &SessionPatch,
    session: &Session,
    local: &LocalHost,
    now: Timestamp,
) -> Session {
    fn or_existing<T: Clone>(told: Option<&T>, has: Option<&T>) -> Option<T> {
        told.or(has).cloned()
    }
    let under = |base: &Path, path: &String| normalize(&base.join(path)).to_string_lossy().into_owned();
    let transcript = told.transcript.as_ref().map(|path| under(&app.project.root, path));
    let worktree = told.worktree.as_ref().map(|path| under(&app.env.cwd, path));
    let mut after = Session {
        role: told.role.clone().unwrap_or_else(|| session.role.clone()),
        lane: or_existing(told.lane.as_ref(), session.lane.as_ref()),
        task: or_existing(told.task.as_ref(), session.task.as_ref()),
        provider: or_existing(told.provider.as_ref(), session.provider.as_ref()),
        backend: or_existing(told.backend.as_ref(), session.backend.as_ref()),
        session_name: or_existing(told.backend_name.as_ref(), session.session_name.as_ref()),
        external_session_id: or_existing(told.external_session_id.as_ref(), session.external_session_id.as_ref()),
        pane: or_existing(told.pane.as_ref(), session.pane.as_ref()),
        socket: or_existing(told.socket.as_ref(), session.socket.as_ref()),
        transcript: or_existing(transcript.as_ref(), session.transcript.as_ref()),
        worktree: or_existing(worktree.as_ref(), session.worktree.as_ref()),
        branch: or_existing(told.branch.as_ref(), session.branch.as_ref()),
        started_at: told.started_at.unwrap_or(session.started_at),
        ..session.clone()
    };
    if let Some(process) = &local.process {
        after.pid = Some(i64::from(process.pid));
        after.pid_started = i64::try_from(process.started).ok();
    }
    if told.pane.is_some() || told.socket.is_some() {
        after.server_pid = local.server.as_ref().map(|server| i64::from(server.pid));
        after.server_started = local.server.as_ref().and_then(|server| i64::try_from(server.started).ok());
    }
    if local.process.is_some() || told.pane.is_some() || told.socket.is_some() {
        // What is told of a process or a pane is told of this host and this boot.
        after.host.clone_from(&local.host);
        after.boot_id = local.boot_id.clone();
        if local.process.is_none() && (&session.host, &session.boot_id) != (&after.host, &after.boot_id) {
            (after.pid, after.pid_started) = (None, None);
        }
    }
    if let Some(activity) = told.activity {
        after = after.with_activity(activity, kept_waiting_for(session, activity, None), "upsert", now);
    }
    after
}

/// Two live sessions cannot be one conversation of a provider.
pub(in crate::actions) fn check_external_id_unused(tx: &ReadTx<'_>, session: &Session) -> Result<()> {
    let (Some(provider), Some(external)) = (&session.provider, &session.external_session_id) else { return Ok(()) };
    match sessions::by_external(tx, provider, external)? {
        Some(other) if other.id != session.id => {
            let why = format!("{provider} session '{external}' is registered as {}, which is {}", other.id, other.status);
            Err(Refusal::SessionMismatch { why }.into())
        }
        _ => Ok(()),
    }
}

/// The names of the fields in which two looks at a session differ, times of looking apart.
pub(in crate::actions) fn changed_fields(before: &Session, after: &Session) -> Vec<&'static str> {
    let pairs = [
        ("role", before.role != after.role),
        ("lane", before.lane != after.lane),
        ("task_id", before.task != after.task),
        ("provider", before.provider != after.provider),
        ("backend", before.backend != after.backend),
        ("session_name", before.session_name != after.session_name),
        ("external_session_id", before.external_session_id != after.external_session_id),
        ("host", before.host != after.host),
        ("pid", (before.pid, before.pid_started) != (after.pid, after.pid_started)),
        ("pane", before.pane != after.pane),
        ("socket", before.socket != after.socket),
        ("transcript", before.transcript != after.transcript),
        ("worktree", before.worktree != after.worktree),
        ("branch", before.branch != after.branch),
        ("activity", (before.activity, &before.waiting_for) != (after.activity, &after.waiting_for)),
        ("started_at", before.started_at != after.started_at),
    ];
    pairs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
