//! Which session a hook speaks of, and what it tells of it by speaking.

use anyhow::Result;

use super::{Caller, Start};
use crate::{
    actions::{
        App,
        boundary::runtime,
        core::keepalive,
        sessions::report::upsert::{self, Local, Told},
    },
    domain::{Actor, SessionId, session::Session},
    os::{
        host,
        process::{Presence, ProcessKey},
    },
    store::{ReadTx, WriteTx, session_reports, sessions},
};

/// What a look found.
enum Found {
    /// This one lives.
    Live(Session),
    /// It was this one, which has ended.
    Over(Session),
    /// None yet; whether it is the one that the surroundings name.
    New(bool),
}

/// The session that is meant, when it is known and lives.
///
/// # Errors
/// As [`find`] fails.
pub(super) fn known(app: &App, caller: &Caller) -> Result<Option<SessionId>> {
    app.read(|tx| {
        Ok(match find(app, tx, caller, None)? {
            Found::Live(session) => Some(session.id),
            Found::Over(_) | Found::New(_) => None,
        })
    })
}

/// Whether somebody else's session has this conversation now.
fn is_elsewhere(tx: &ReadTx<'_>, caller: &Caller, session: &Session) -> Result<bool> {
    let known = sessions::by_external(tx, &caller.provider, &caller.external)?;
    Ok(known.is_some_and(|known| known.id != session.id))
}

/// The session that is meant: the one that the surroundings name, unless the caller is another program inside it; else the
/// one that the provider knows under its own id.
fn find(app: &App, tx: &ReadTx<'_>, caller: &Caller, start: Option<Start>) -> Result<Found> {
    let own = app.actor.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?;
    let external = sessions::by_external(tx, &caller.provider, &caller.external)?;
    let over = match own {
        // A launcher of another make names a session before anybody has told of it.
        Some(None) => return Ok(external.map_or(Found::New(true), Found::Live)),
        Some(Some(own)) if own.status.is_final() => Some(own),
        Some(Some(own)) if is_own(&own, caller, external.is_some(), start) => {
            own.of_run(app.actor.run_id.as_deref())?;
            return Ok(Found::Live(own));
        }
        Some(Some(_)) | None => None,
    };
    if let Some(live) = external {
        return Ok(Found::Live(live));
    }
    if start.is_some() {
        return Ok(Found::New(false));
    }
    let over = match over {
        Some(own) => Some(own),
        None => sessions::ended_by_external(tx, &caller.provider, &caller.external)?,
    };
    Ok(over.map_or(Found::New(false), Found::Over))
}

/// Whether the caller is the program of the session that its surroundings name, and not one that was started inside it.
fn is_own(own: &Session, caller: &Caller, is_known: bool, start: Option<Start>) -> bool {
    let is_rival = own.provider.as_ref().is_some_and(|has| caller.others.contains(&has.as_str()));
    match own.external_session_id.as_deref() {
        _ if is_rival => false,
        None => true,
        Some(has) if has == caller.external => true,
        // Another conversation, which is a session of its own.
        Some(_) if is_known => false,
        Some(_) => start != Some(Start::Fresh),
    }
}

/// One call of a hook in one transaction: the session is found or made, more is known of it, it has given a sign of life,
/// and `also` is written. `None`: it has ended.
///
/// # Errors
/// As [`find`], `also` and the store fail; nothing is then written.
pub(super) fn touch(
    app: &App,
    caller: &Caller,
    also: impl FnOnce(&WriteTx<'_>, &Session) -> Result<()>,
) -> Result<Option<Session>> {
    enter(app, caller, None, also).map(Result::ok)
}

/// The same at the start of a session, and with the one that has ended instead of nothing.
pub(super) fn enter(
    app: &App,
    caller: &Caller,
    start: Option<Start>,
    also: impl FnOnce(&WriteTx<'_>, &Session) -> Result<()>,
) -> Result<Result<Session, Session>> {
    // Looked at before the transaction, like everything outside.
    let (here, boot) = (host::identity(), host::boot_id());
    let boot = (!boot.is_empty()).then_some(boot.as_str());
    let local = Local { here: &here, boot, process: caller.agent.as_ref(), server: None };
    let worktree = worktree(caller);
    app.transaction(|tx| {
        let session = match find(app, tx, caller, start)? {
            Found::Over(session) => return Ok(Err(session)),
            Found::New(own) => make(app, tx, caller, own, &local, worktree.as_deref())?,
            Found::Live(session) => learn(tx, caller, start, session, &local)?,
        };
        match start {
            Some(_) => runtime::begins(tx, &session)?,
            None => runtime::sign(tx, &session)?,
        }
        session_reports::hooked(tx, &session.id)?;
        let session = again(tx, session)?;
        also(tx, &session)?;
        Ok(Ok(again(tx, session)?))
    })
}

/// The session as it stands now in this transaction.
fn again(tx: &ReadTx<'_>, session: Session) -> Result<Session> {
    Ok(sessions::find(tx, &session.id)?.unwrap_or(session))
}

fn make(
    app: &App,
    tx: &WriteTx<'_>,
    caller: &Caller,
    own: bool,
    local: &Local<'_>,
    worktree: Option<&str>,
) -> Result<Session> {
    let told = Told {
        id: app.actor.session.clone().filter(|_| own),
        role: Some(app.actor.role.clone().unwrap_or_else(|| app.settings.boundary.hook_role.clone())),
        lane: app.actor.lane.clone().filter(|_| own),
        provider: Some(caller.provider.clone()),
        external_session_id: Some(caller.external.clone()),
        transcript: caller.transcript.clone(),
        worktree: worktree.map(str::to_owned),
        ..Told::default()
    };
    upsert::check(&told)?;
    upsert::links(tx, &told)?;
    let session = upsert::newborn(app, tx, &told, told.id.as_ref(), own, local, tx.now())?;
    upsert::insert(tx, &session)?;
    Ok(session)
}

/// What a session did not know of itself so far.
fn learn(
    tx: &WriteTx<'_>,
    caller: &Caller,
    start: Option<Start>,
    session: Session,
    local: &Local<'_>,
) -> Result<Session> {
    let mut after = session.clone();
    if after.provider.is_none() {
        after.provider = Some(caller.provider.clone());
    }
    let unknown = after.external_session_id.is_none() || (start.is_some() && !caller.is_subagent);
    if unknown && !is_elsewhere(tx, caller, &session)? {
        after.external_session_id = Some(caller.external.clone());
        // What a launcher made for its own record of the terminal stays.
        if after.backend.is_none() || after.transcript.is_none() {
            after.transcript = caller.transcript.clone().or(after.transcript);
        }
    }
    if let Some(process) = local.process.filter(|_| !is_rooted(&session)) {
        after.pid = Some(i64::from(process.pid));
        after.pid_started = i64::try_from(process.started).ok();
        local.here.clone_into(&mut after.host);
        after.boot_id = local.boot.map(str::to_owned);
    }
    let fields = upsert::differing(&session, &after);
    if fields.is_empty() {
        return Ok(session);
    }
    keepalive::write(tx, &after)?;
    upsert::changed(tx, &after, &fields)?;
    again(tx, after)
}

/// Whether its root process is known and there, or another one looks after it.
fn is_rooted(session: &Session) -> bool {
    if session.backend.is_some() {
        return true;
    }
    let root = ProcessKey::recorded(session.pid, session.pid_started, session.boot_id.as_deref());
    root.is_some_and(|root| !matches!(root.presence(), Presence::Gone(_)))
}

/// The worktree that the caller works in: the nearest folder above it that git knows.
fn worktree(caller: &Caller) -> Option<String> {
    let cwd = caller.cwd.as_ref()?;
    let top = cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    top.to_str().map(str::to_owned)
}

/// The same house with the session in it, so that what it does is told under its name.
pub(super) fn acting(app: &App, session: &Session) -> App {
    let actor = Actor {
        name: session.id.to_string(),
        session: Some(session.id.clone()),
        run_id: Some(session.run_id.clone()),
        role: Some(session.role.clone()),
        lane: session.lane.clone(),
        epoch: None,
    };
    app.with_actor(actor, None)
}
