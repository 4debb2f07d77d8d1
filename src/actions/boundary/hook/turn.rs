//! Turns: they begin, end, and go on with what came meanwhile.

use std::path::Path;

use anyhow::Result;

use super::{
    event::{HookCaller, SOURCE},
    reply::{HookOutcome, Reply},
    resolve_session,
    transcript::{TranscriptReader, TranscriptUsage},
};
use crate::{
    actions::{
        App,
        boundary::{approval, runtime},
        core::lookup,
        sessions::{finish, prompt, report::telemetry},
    },
    domain::{
        message::Channel,
        session::{Activity, Session, SessionStatus},
    },
    store::{WriteTx, session_reports},
};

/// A prompt was submitted: the session is busy, and what waits for it goes with the prompt.
///
/// # Errors
/// As the store fails.
pub(super) fn start(app: &App, caller: &HookCaller) -> Result<HookOutcome> {
    let session = resolve_session::touch(app, caller, |tx, session| {
        if !caller.is_subagent {
            runtime::report_activity(tx, session, Activity::Busy, None, SOURCE)?;
        }
        Ok(())
    })?;
    let Some(session) = session.filter(|_| !caller.is_subagent) else { return Ok(HookOutcome::of(Reply::Nothing)) };
    deliver(app, caller, session, Channel::TurnStart, Reply::Context)
}

/// What waits for the session and may go this way now.
///
/// # Errors
/// As the store fails.
pub(super) fn deliver(
    app: &App,
    caller: &HookCaller,
    session: Session,
    way: Channel,
    reply: impl FnOnce(String) -> Reply,
) -> Result<HookOutcome> {
    Ok(match prompt::take_deliverable(app, &session, way, caller.max_output_bytes)? {
        Some(carried) => HookOutcome::delivering(session, carried, reply),
        None => HookOutcome::of(Reply::Nothing),
    })
}

/// The turn is over: the session is idle, what it used is read, and what waits for it makes it go on.
///
/// # Errors
/// As the store fails.
pub(super) fn end(app: &App, caller: &HookCaller, records: TranscriptReader<'_>) -> Result<HookOutcome> {
    if caller.is_subagent {
        return subagent_end(app, caller, None, records);
    }
    let used = read_new_usage(app, caller, records)?;
    let session = resolve_session::touch(app, caller, |tx, session| {
        store_usage(app, tx, session, used.as_ref())?;
        approval::expire_pending(tx, session, None)?;
        // Before the look at what waits: whoever sends something after it sees that the session is idle, and wakes it.
        runtime::report_activity(tx, session, Activity::Idle, None, SOURCE)?;
        Ok(())
    })?;
    // Two who bring something at once, one that makes it go on and one that wakes it: what the second brings is lost. The
    // waiter is started at the same moment as we are.
    let Some(session) = session.filter(|_| !caller.has_wake_hook) else { return Ok(HookOutcome::of(Reply::Nothing)) };
    let outcome = deliver(app, caller, session, Channel::TurnEnd, Reply::Continue)?;
    if let Some((session, _)) = &outcome.delivered {
        app.transaction(|tx| runtime::report_activity(tx, session, Activity::Busy, None, SOURCE))?;
    }
    Ok(outcome)
}

/// A helper inside the session is done: what it used is the session's.
///
/// # Errors
/// As the store fails.
pub(super) fn subagent_end(
    app: &App,
    caller: &HookCaller,
    record: Option<&Path>,
    records: TranscriptReader<'_>,
) -> Result<HookOutcome> {
    // Its record is its own; turns that were read before are known by their keys.
    let used = record.and_then(|path| records(path, 0).ok());
    resolve_session::touch(app, caller, |tx, session| {
        if let Some(used) = &used {
            telemetry::store_turns(tx, session, &used.turns)?;
        }
        Ok(())
    })?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// The session is over; one whose program goes on with another conversation rests.
///
/// # Errors
/// As the store fails.
pub(super) fn session_end(
    app: &App,
    caller: &HookCaller,
    reason: &str,
    goes_on: bool,
    records: TranscriptReader<'_>,
) -> Result<HookOutcome> {
    if caller.is_subagent {
        return subagent_end(app, caller, None, records);
    }
    let used = read_new_usage(app, caller, records)?;
    let own = app.actor.session.clone();
    resolve_session::touch(app, caller, |tx, session| {
        store_usage(app, tx, session, used.as_ref())?;
        approval::expire_pending(tx, session, None)?;
        if goes_on && own.as_ref() == Some(&session.id) {
            runtime::report_activity(tx, session, Activity::Idle, None, SOURCE)?;
        } else {
            let session = lookup::session(tx, &session.id)?;
            finish(tx, &session, SessionStatus::Ended, None, Some(&format!("its provider says: {reason}")))?;
        }
        Ok(())
    })?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// What was read of the caller's record, and which record that is.
struct NewUsage {
    path: String,
    usage: TranscriptUsage,
}

/// Reads what has come to the record since the last time. A record that cannot be read is not there yet.
fn read_new_usage(app: &App, caller: &HookCaller, records: TranscriptReader<'_>) -> Result<Option<NewUsage>> {
    let Some(path) = &caller.transcript else { return Ok(None) };
    let known = resolve_session::find_live(app, caller)?;
    let offset = app.read(|tx| match known {
        Some(id) => {
            let known = session_reports::find(tx, &id)?;
            Ok(if known.usage_path.as_ref() == Some(path) { known.usage_offset } else { 0 })
        }
        None => Ok(0),
    })?;
    let used = records(Path::new(path), u64::try_from(offset).unwrap_or_default()).ok();
    Ok(used.map(|used| NewUsage { path: path.clone(), usage: used }))
}

fn store_usage(app: &App, tx: &WriteTx<'_>, session: &Session, new: Option<&NewUsage>) -> Result<()> {
    let Some(NewUsage { path, usage: used }) = new else { return Ok(()) };
    telemetry::store_turns(tx, session, &used.turns)?;
    session_reports::set_usage_offset(tx, &session.id, path, i64::try_from(used.offset).unwrap_or_default())?;
    if let Some(share) = used.context {
        runtime::report_context_usage(app, tx, session, share)?;
    }
    Ok(())
}
