//! Which session a hook speaks of, and what it tells of it by speaking.

use anyhow::Result;

use super::{HookCaller, StartKind};
use crate::{
    actions::{
        App,
        boundary::runtime,
        core::keepalive,
        sessions::{
            actor,
            report::upsert::{self, LocalHost, SessionPatch},
        },
    },
    domain::{SessionId, session::Session},
    os::process::{ProcessKey, ProcessStatus},
    store::{ReadTx, WriteTx, session_reports, sessions},
};

/// What a look found.
enum Resolved {
    /// This one lives.
    Live(Session),
    /// It was this one, which has ended.
    Ended(Session),
    /// None yet; whether it is the one that the surroundings name.
    New(bool),
}

/// The session that is meant, when it is known and lives.
///
/// # Errors
/// As [`find`] fails.
pub(super) fn find_live(app: &App, caller: &HookCaller) -> Result<Option<SessionId>> {
    app.read(|tx| {
        Ok(match resolve(app, tx, caller, None)? {
            Resolved::Live(session) => Some(session.id),
            Resolved::Ended(_) | Resolved::New(_) => None,
        })
    })
}

/// Whether somebody else's session has this conversation now.
fn has_other_session(tx: &ReadTx<'_>, caller: &HookCaller, session: &Session) -> Result<bool> {
    let known = sessions::by_external(tx, &caller.provider, &caller.external_session_id)?;
    Ok(known.is_some_and(|known| known.id != session.id))
}

/// The session that is meant: the one that the surroundings name, unless the caller is another program inside it; else the
/// one that the provider knows under its own id.
fn resolve(app: &App, tx: &ReadTx<'_>, caller: &HookCaller, start: Option<StartKind>) -> Result<Resolved> {
    let own = app.actor.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?;
    let external = sessions::by_external(tx, &caller.provider, &caller.external_session_id)?;
    let over = match own {
        // A launcher of another make names a session before anybody has told of it.
        Some(None) => return Ok(external.map_or(Resolved::New(true), Resolved::Live)),
        Some(Some(own)) if own.status.is_final() => Some(own),
        Some(Some(own)) if is_callers_session(&own, caller, external.is_some(), start) => {
            own.check_run_id(app.actor.run_id.as_deref())?;
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
    let over = match over {
        Some(own) => Some(own),
        None => sessions::ended_by_external(tx, &caller.provider, &caller.external_session_id)?,
    };
    Ok(over.map_or(Resolved::New(false), Resolved::Ended))
}

/// Whether the caller is the program of the session that its surroundings name, and not one that was started inside it.
fn is_callers_session(own: &Session, caller: &HookCaller, is_known: bool, start: Option<StartKind>) -> bool {
    let is_rival = own.provider.as_ref().is_some_and(|has| caller.other_providers.contains(&has.as_str()));
    match own.external_session_id.as_deref() {
        _ if is_rival => false,
        None => true,
        Some(has) if has == caller.external_session_id => true,
        // Another conversation, which is a session of its own.
        Some(_) if is_known => false,
        Some(_) => start != Some(StartKind::Fresh),
    }
}

/// One call of a hook in one transaction: the session is found or made, more is known of it, it has given a sign of life,
/// and `also` is written. `None`: it has ended.
///
/// # Errors
/// As [`find`], `also` and the store fail; nothing is then written.
pub(super) fn touch(
    app: &App,
    caller: &HookCaller,
    also: impl FnOnce(&WriteTx<'_>, &Session) -> Result<()>,
) -> Result<Option<Session>> {
    find_or_create(app, caller, None, also).map(Result::ok)
}

/// The same at the start of a session, and with the one that has ended instead of nothing.
pub(super) fn find_or_create(
    app: &App,
    caller: &HookCaller,
    start: Option<StartKind>,
    also: impl FnOnce(&WriteTx<'_>, &Session) -> Result<()>,
) -> Result<Result<Session, Session>> {
    // Looked at before the transaction, like everything outside.
    let local = LocalHost::read(caller.agent_process.clone());
    let worktree = worktree_of(caller);
    app.transaction(|tx| {
        let session = match resolve(app, tx, caller, start)? {
            Resolved::Ended(session) => return Ok(Err(session)),
            Resolved::New(own) => create(app, tx, caller, own, &local, worktree.as_deref())?,
            Resolved::Live(session) => complete_fields(tx, caller, start, session, &local)?,
        };
        match start {
            Some(_) => runtime::touch_started(tx, &session)?,
            None => runtime::touch(tx, &session)?,
        }
        session_reports::touch_hook(tx, &session.id)?;
        let session = reload(tx, session)?;
        also(tx, &session)?;
        Ok(Ok(reload(tx, session)?))
    })
}

/// The session as it stands now in this transaction.
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
    let told = SessionPatch {
        id: app.actor.session.clone().filter(|_| own),
        role: Some(app.actor.role.clone().unwrap_or_else(|| app.settings.agents.hook_role.clone())),
        lane: app.actor.lane.clone().filter(|_| own),
        provider: Some(caller.provider.clone()),
        external_session_id: Some(caller.external_session_id.clone()),
        transcript: caller.transcript.clone(),
        worktree: worktree.map(str::to_owned),
        ..SessionPatch::default()
    };
    upsert::validate(&told)?;
    upsert::check_references(tx, &told)?;
    let session = upsert::new_session(app, tx, &told, told.id.as_ref(), own, local, tx.now())?;
    upsert::insert(tx, &session)?;
    Ok(session)
}

/// What a session did not know of itself so far.
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
        // What a launcher made for its own record of the terminal stays.
        if after.backend.is_none() || after.transcript.is_none() {
            after.transcript = caller.transcript.clone().or(after.transcript);
        }
    }
    if let Some(process) = local.process.as_ref().filter(|_| !has_live_process(&session)) {
        after.pid = Some(i64::from(process.pid));
        after.pid_started = i64::try_from(process.started).ok();
        after.host.clone_from(&local.host);
        after.boot_id.clone_from(&local.boot_id);
    }
    let fields = upsert::changed_fields(&session, &after);
    if fields.is_empty() {
        return Ok(session);
    }
    keepalive::update_session(tx, &after)?;
    upsert::record_changes(tx, &after, &fields)?;
    reload(tx, after)
}

/// Whether its root process is known and there, or another one looks after it.
fn has_live_process(session: &Session) -> bool {
    if session.backend.is_some() {
        return true;
    }
    let root = ProcessKey::from_record(session.pid, session.pid_started, session.boot_id.as_deref());
    root.is_some_and(|root| !matches!(root.status(), ProcessStatus::Gone(_)))
}

/// The worktree that the caller works in: the nearest directory above it that git knows.
fn worktree_of(caller: &HookCaller) -> Option<String> {
    let cwd = caller.cwd.as_ref()?;
    let top = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
    top.to_str().map(str::to_owned)
}

/// The same house with the session in it, so that what it does is told under its name.
pub(super) fn app_as(app: &App, session: &Session) -> App {
    app.with_actor(actor::of_session(session), None)
}
