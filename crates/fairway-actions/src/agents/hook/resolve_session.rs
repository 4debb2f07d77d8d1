//! Finds or registers the session of a hook caller and updates it.

use std::path::Path;

use anyhow::Result;

use super::event::{HookCaller, StartKind};
use crate::App;
use crate::core::{other_host, session_events};
use crate::sessions::actor;
use crate::sessions::report::upsert::{self, LocalHost, SessionPatch};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::rules::session_machine::{Report, SessionEvent};
use fairway_core::domain::session::Session;
use fairway_core::domain::{Role, SessionId};
use fairway_core::os::process::{ProcessKey, ProcessStatus};
use fairway_core::store::{ReadTx, WriteTx, lanes, session_reports, sessions};

/// The role of a session that no launch has started and whose lane has no role.
const BY_HAND: &str = "person";

enum Resolved {
    Live(Session),
    /// The session has ended.
    Ended(Session),
    /// The session is not registered; `true` if the environment names it.
    New(bool),
}

/// The caller's session; `None` when it is not registered or has ended.
pub(super) fn find_live(app: &App, caller: &HookCaller) -> Result<Option<SessionId>> {
    app.read(|tx| {
        Ok(match resolve(app, tx, caller, None)? {
            Resolved::Live(session) => Some(session.id),
            Resolved::Ended(_) | Resolved::New(_) => None,
        })
    })
}

/// Whether another session has the caller's conversation.
fn has_other_session(tx: &ReadTx<'_>, caller: &HookCaller, session: &Session) -> Result<bool> {
    let known = sessions::by_external(tx, &caller.provider, &caller.external_session_id)?;
    Ok(known.is_some_and(|known| known.id != session.id))
}

/// Resolves the caller's session: the one that the environment names, unless the caller is another program inside it; else
/// the one with the provider's session id.
fn resolve(app: &App, tx: &ReadTx<'_>, caller: &HookCaller, start: Option<StartKind>) -> Result<Resolved> {
    let own = app.actor.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?;
    let external = sessions::by_external(tx, &caller.provider, &caller.external_session_id)?;
    let ended = match own {
        // An external launcher sets the session id before the session is registered.
        Some(None) => return Ok(external.map_or(Resolved::New(true), Resolved::Live)),
        Some(Some(own)) if own.status.is_final() => Some(own),
        Some(Some(own)) if is_callers_session(&own, caller, external.is_some(), start) => {
            own.check_run_id(app.actor.run_id.as_ref())?;
            return Ok(Resolved::Live(own));
        }
        Some(Some(_)) | None => None,
    };
    if let Some(live) = external {
        return Ok(Resolved::Live(live));
    }
    if start.is_some() {
        return Ok(Resolved::New(false));
    }
    let ended = match ended {
        Some(own) => Some(own),
        None => sessions::ended_by_external(tx, &caller.provider, &caller.external_session_id)?,
    };
    Ok(ended.map_or(Resolved::New(false), Resolved::Ended))
}

/// Whether the caller is the program of the session that its environment names, and not one that was started inside it.
fn is_callers_session(own: &Session, caller: &HookCaller, is_known: bool, start: Option<StartKind>) -> bool {
    let is_other_provider = own.provider.as_ref().is_some_and(|has| caller.other_providers.contains(&has.as_str()));
    match own.external_session_id.as_deref() {
        _ if is_other_provider => false,
        None => true,
        Some(has) if has == caller.external_session_id => true,
        // A supervisor speaks for its own session alone.
        Some(_) if caller.is_supervisor => true,
        // Another conversation, registered as another session.
        Some(_) if is_known => false,
        // The session's agent has begun again, or an agent that it has started begins.
        Some(_) => start != Some(StartKind::Fresh) || caller.is_first_agent,
    }
}

/// Handles a hook call in one transaction: finds or registers the session, updates it, records a heartbeat and calls `also`.
/// Returns `None` if the session has ended.
///
/// # Errors
/// Errors of [`resolve`], `also` and the store; then the transaction is rolled back.
pub(super) fn touch(
    app: &App,
    caller: &HookCaller,
    also: impl FnOnce(&WriteTx<'_>, &Session) -> Result<()>,
) -> Result<Option<Session>> {
    find_or_create(app, caller, None, also).map(Result::ok)
}

/// Like [`touch`], also for the start of a session. A session that has ended is returned in the inner `Err`, unchanged.
pub(super) fn find_or_create(
    app: &App,
    caller: &HookCaller,
    start: Option<StartKind>,
    also: impl FnOnce(&WriteTx<'_>, &Session) -> Result<()>,
) -> Result<Result<Session, Session>> {
    // Read before the transaction, which must be short.
    let local = LocalHost::read(caller.agent_process.clone());
    let worktree = worktree_of(caller);
    app.transaction(|tx| {
        let session = match resolve(app, tx, caller, start)? {
            Resolved::Ended(session) => return Ok(Err(session)),
            Resolved::New(own) => create(app, tx, caller, own, &local, worktree.as_deref())?,
            Resolved::Live(session) => complete_fields(tx, caller, start, session, &local)?,
        };
        match start {
            Some(_) => {
                let started = Report::without_activity("", "it acts");
                session_events::apply(tx, &session, &SessionEvent::Lives(started))?;
            }
            None => session_events::heard(tx, &session)?,
        }
        session_reports::touch_hook(tx, &session.id)?;
        let session = reload(tx, session)?;
        also(tx, &session)?;
        Ok(Ok(reload(tx, session)?))
    })
}

fn reload(tx: &ReadTx<'_>, session: Session) -> Result<Session> {
    Ok(sessions::find(tx, &session.id)?.unwrap_or(session))
}

fn create(
    app: &App,
    tx: &WriteTx<'_>,
    caller: &HookCaller,
    own: bool,
    local: &LocalHost,
    worktree: Option<&str>,
) -> Result<Session> {
    // An agent that was started by hand works in the lane whose worktree it was started in.
    let lane = if own { None } else { lane_of(app, tx, worktree)? };
    let role = app.actor.role.clone().or_else(|| lane.as_ref()?.role.clone());
    let patch = SessionPatch {
        id: app.actor.session.clone().filter(|_| own),
        role: Some(role.map_or_else(|| Role::parse(BY_HAND), Ok)?),
        lane: app.actor.lane.clone().filter(|_| own).or_else(|| lane.map(|lane| lane.name)),
        provider: Some(caller.provider.clone()),
        external_session_id: Some(caller.external_session_id.clone()),
        transcript: caller.transcript.clone(),
        worktree: worktree.map(str::to_owned),
        ..SessionPatch::default()
    };
    upsert::validate(&patch)?;
    upsert::check_references(tx, &patch)?;
    let session = upsert::new_session(app, tx, &patch, patch.id.as_ref(), own, local, tx.now())?;
    session_events::register(tx, &session)?;
    Ok(session)
}

/// The lane with this worktree on this host; `None` when there is none or it is closed.
fn lane_of(app: &App, tx: &ReadTx<'_>, worktree: Option<&str>) -> Result<Option<Lane>> {
    let Some(worktree) = worktree.and_then(|dir| Path::new(dir).canonicalize().ok()) else { return Ok(None) };
    let is_here = |lane: &Lane| {
        let dir = lane.worktree.as_ref().and_then(|dir| Path::new(dir).canonicalize().ok());
        lane.status != LaneStatus::Closed && dir.as_ref() == Some(&worktree) && !other_host::has_worktree(app, lane)
    };
    Ok(lanes::all(tx)?.into_iter().find(is_here))
}

/// Adds facts from the hook to the session.
fn complete_fields(
    tx: &WriteTx<'_>,
    caller: &HookCaller,
    start: Option<StartKind>,
    session: Session,
    local: &LocalHost,
) -> Result<Session> {
    let mut after = session.clone();
    if after.provider.is_none() {
        after.provider = Some(caller.provider.clone());
    }
    let unknown = after.external_session_id.is_none() || (start.is_some() && !caller.is_subagent);
    if unknown && !has_other_session(tx, caller, &session)? {
        after.external_session_id = Some(caller.external_session_id.clone());
        // A transcript set by a launcher stays.
        if after.backend.is_none() || after.transcript.is_none() {
            after.transcript = caller.transcript.clone().or(after.transcript);
        }
    }
    if let Some(process) = local.process.as_ref().filter(|_| !has_live_process(&session)) {
        after.pid = Some(i64::from(process.pid));
        after.pid_started = i64::try_from(process.started).ok();
        after.host.clone_from(&local.host.name);
        after.host_id.clone_from(&local.host.id);
        after.boot_id.clone_from(&local.boot_id);
    }
    session_events::apply(tx, &session, &SessionEvent::Described { facts: &after })
}

/// Whether the session's process is alive, or its backend tracks it.
fn has_live_process(session: &Session) -> bool {
    if session.backend.is_some() {
        return true;
    }
    let root = ProcessKey::from_record(session.pid, session.pid_started, session.boot_id.as_deref());
    root.is_some_and(|root| !matches!(root.status(), ProcessStatus::Gone(_)))
}

/// The caller's worktree: the nearest directory with a `.git` entry, from its working directory upwards.
fn worktree_of(caller: &HookCaller) -> Option<String> {
    let cwd = caller.cwd.as_ref()?;
    let top = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
    top.to_str().map(str::to_owned)
}

pub(super) fn app_as(app: &App, session: &Session) -> App {
    app.with_actor(actor::of_session(session), None)
}
