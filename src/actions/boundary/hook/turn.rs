//! Turns: they begin, end, and go on with what came meanwhile.

use std::path::Path;

use anyhow::Result;

use super::{Caller, Outcome, Records, Reply, SOURCE, Used, resolve_session};
use crate::{
    actions::{
        App,
        boundary::{approval, runtime},
        core::lookup,
        sessions::{finish, prompt, report::telemetry},
    },
    domain::{
        message::Way,
        session::{Activity, Session, SessionStatus},
    },
    store::{WriteTx, session_reports},
};

/// A prompt was submitted: the session is busy, and what waits for it goes with the prompt.
///
/// # Errors
/// As the store fails.
pub(super) fn start(app: &App, caller: &Caller) -> Result<Outcome> {
    let session = resolve_session::touch(app, caller, |tx, session| {
        if !caller.is_subagent {
            runtime::doing(tx, session, Activity::Busy, None, SOURCE)?;
        }
        Ok(())
    })?;
    let Some(session) = session.filter(|_| !caller.is_subagent) else { return Ok(Outcome::of(Reply::Nothing)) };
    carry(app, caller, session, Way::TurnStart, Reply::Context)
}

/// What waits for the session and may go this way now.
///
/// # Errors
/// As the store fails.
pub(super) fn carry(
    app: &App,
    caller: &Caller,
    session: Session,
    way: Way,
    reply: impl FnOnce(String) -> Reply,
) -> Result<Outcome> {
    Ok(match prompt::carry(app, &session, way, caller.room)? {
        Some(carried) => Outcome::carrying(session, carried, reply),
        None => Outcome::of(Reply::Nothing),
    })
}

/// The turn is over: the session is idle, what it used is read, and what waits for it makes it go on.
///
/// # Errors
/// As the store fails.
pub(super) fn end(app: &App, caller: &Caller, records: Records<'_>) -> Result<Outcome> {
    if caller.is_subagent {
        return subagent_end(app, caller, None, records);
    }
    let used = used(app, caller, records)?;
    let session = resolve_session::touch(app, caller, |tx, session| {
        note(app, tx, session, used.as_ref())?;
        approval::over(tx, session, None)?;
        // Before the look at what waits: whoever sends something after it sees that the session is idle, and wakes it.
        runtime::doing(tx, session, Activity::Idle, None, SOURCE)?;
        Ok(())
    })?;
    // Two who bring something at once, one that makes it go on and one that wakes it: what the second brings is lost. The
    // waiter is started at the same moment as we are.
    let Some(session) = session.filter(|_| !caller.is_waited_for) else { return Ok(Outcome::of(Reply::Nothing)) };
    let outcome = carry(app, caller, session, Way::TurnEnd, Reply::GoOn)?;
    if let Some((session, _)) = &outcome.carried {
        app.transaction(|tx| runtime::doing(tx, session, Activity::Busy, None, SOURCE))?;
    }
    Ok(outcome)
}

/// A helper inside the session is done: what it used is the session's.
///
/// # Errors
/// As the store fails.
pub(super) fn subagent_end(app: &App, caller: &Caller, record: Option<&Path>, records: Records<'_>) -> Result<Outcome> {
    // Its record is its own; turns that were read before are known by their keys.
    let used = record.and_then(|path| records(path, 0).ok());
    resolve_session::touch(app, caller, |tx, session| {
        if let Some(used) = &used {
            telemetry::write(tx, session, &used.turns)?;
        }
        Ok(())
    })?;
    Ok(Outcome::of(Reply::Nothing))
}

/// The session is over; one whose program goes on with another conversation rests.
///
/// # Errors
/// As the store fails.
pub(super) fn session_end(
    app: &App,
    caller: &Caller,
    reason: &str,
    goes_on: bool,
    records: Records<'_>,
) -> Result<Outcome> {
    if caller.is_subagent {
        return subagent_end(app, caller, None, records);
    }
    let used = used(app, caller, records)?;
    let own = app.actor.session.clone();
    resolve_session::touch(app, caller, |tx, session| {
        note(app, tx, session, used.as_ref())?;
        approval::over(tx, session, None)?;
        if goes_on && own.as_ref() == Some(&session.id) {
            runtime::doing(tx, session, Activity::Idle, None, SOURCE)?;
        } else {
            let session = lookup::session(tx, &session.id)?;
            finish(tx, &session, SessionStatus::Ended, None, Some(&format!("its provider says: {reason}")))?;
        }
        Ok(())
    })?;
    Ok(Outcome::of(Reply::Nothing))
}

/// What was read of the caller's record, and which record that is.
struct New {
    path: String,
    used: Used,
}

/// Reads what has come to the record since the last time. A record that cannot be read is not there yet.
fn used(app: &App, caller: &Caller, records: Records<'_>) -> Result<Option<New>> {
    let Some(path) = &caller.transcript else { return Ok(None) };
    let known = resolve_session::known(app, caller)?;
    let offset = app.read(|tx| match known {
        Some(id) => {
            let known = session_reports::find(tx, &id)?;
            Ok(if known.usage_path.as_ref() == Some(path) { known.usage_offset } else { 0 })
        }
        None => Ok(0),
    })?;
    let used = records(Path::new(path), u64::try_from(offset).unwrap_or_default()).ok();
    Ok(used.map(|used| New { path: path.clone(), used }))
}

fn note(app: &App, tx: &WriteTx<'_>, session: &Session, new: Option<&New>) -> Result<()> {
    let Some(New { path, used }) = new else { return Ok(()) };
    telemetry::write(tx, session, &used.turns)?;
    session_reports::usage_read(tx, &session.id, path, i64::try_from(used.offset).unwrap_or_default())?;
    if let Some(share) = used.context {
        runtime::context_usage(app, tx, session, share)?;
    }
    Ok(())
}
