//! Turns: start, end, and continuation with new prompts.

use std::path::Path;

use anyhow::Result;

use super::event::{HookCaller, HookOutcome, Reply, TranscriptReader, TranscriptUsage};
use super::resolve_session;
use crate::App;
use crate::agents::{approval, runtime};
use crate::core::{awaited_answer, lookup, session_events};
use crate::sessions::report::{own_program, telemetry};
use crate::sessions::{budget, prompt, reminder};
use fairway_core::domain::ended_turn;
use fairway_core::domain::message::Channel;
use fairway_core::domain::session::{Activity, Session, SessionStatus};
use fairway_core::store::{WriteTx, session_reports};

/// Sets the session to busy and delivers waiting prompts together with the prompt that starts the turn. A subagent gets no
/// prompts.
pub(super) fn start(app: &App, caller: &HookCaller) -> Result<HookOutcome> {
    let mut was_parked = false;
    let session = resolve_session::touch(app, caller, |tx, session| {
        if !caller.is_subagent {
            was_parked = session.is_parked(tx.now());
            awaited_answer::expire_unanswerable(app, tx, session)?;
            session_events::reported(tx, session, Activity::Busy, None, caller.source())?;
            session_reports::reset_turn(tx, &session.id)?;
            if let Some(path) = &caller.transcript {
                session_reports::set_usage_path(tx, &session.id, path)?;
            }
        }
        Ok(())
    })?;
    // At a usage limit the provider drops a turn with what came in it.
    let Some(session) = session.filter(|_| !caller.is_subagent && !was_parked) else {
        return Ok(HookOutcome::of(Reply::Nothing));
    };
    deliver(app, caller, session, Channel::TurnStart, Reply::Context)
}

pub(super) fn deliver(
    app: &App,
    caller: &HookCaller,
    session: Session,
    channel: Channel,
    reply: impl FnOnce(String) -> Reply,
) -> Result<HookOutcome> {
    if caller.is_beside_supervisor(&session) {
        return Ok(HookOutcome::of(Reply::Nothing));
    }
    Ok(match prompt::take_deliverable(app, &session, channel, caller.max_output_bytes)? {
        Some(batch) => HookOutcome::delivering(session, batch, reply),
        None => HookOutcome::of(Reply::Nothing),
    })
}

/// Sets the session to idle and stores the usage of the turn and the end of its last message, `said`. With `reminds`, a
/// session that has stopped may be reminded. When prompts wait, the reply delivers them, so that the turn continues.
pub(super) fn end(
    app: &App,
    caller: &HookCaller,
    said: Option<&str>,
    reminds: bool,
    read_transcript: TranscriptReader<'_>,
) -> Result<HookOutcome> {
    if caller.is_subagent {
        return subagent_end(app, caller, None, read_transcript);
    }
    let mut is_first_failure = false;
    let session = record_end(app, caller, read_transcript, |tx, session, used| {
        is_first_failure = own_program::record(tx, &session.id, used.and_then(|new| new.usage.finds_program))?;
        let said = said.filter(|_| !caller.is_beside_supervisor(session)).and_then(ended_turn::end_of_message);
        Ok(said.map_or(Ok(()), |said| session_reports::set_last_message(tx, &session.id, &said))?)
    })?;
    if let Some(session) = session.as_ref().filter(|one| reminds && !caller.is_beside_supervisor(one)) {
        reminder::remind(app, session)?;
    }
    // If this hook continued the turn while the wake hook, started at the same time, delivers a prompt, the provider would
    // drop the second of them. So the wake hook delivers alone.
    let Some(session) = session.filter(|_| !caller.has_wake_hook) else { return Ok(HookOutcome::of(Reply::Nothing)) };
    let outcome = deliver(app, caller, session.clone(), Channel::TurnEnd, Reply::Continue)?;
    // The turn continues once, with the path that works: without it the agent could do nothing useful.
    let way_out = own_program::way_out().filter(|_| is_first_failure);
    let reply = match (way_out, outcome.reply) {
        (Some(way_out), Reply::Continue(text)) => Reply::Continue(format!("{way_out}\n\n{text}")),
        (Some(way_out), _) => Reply::Continue(way_out),
        (None, reply) => reply,
    };
    if matches!(reply, Reply::Continue(_)) {
        app.transaction(|tx| session_events::reported(tx, &session, Activity::Busy, None, caller.source()))?;
    }
    Ok(HookOutcome { reply, ..outcome })
}

/// Sets the session to idle after a person has interrupted its turn, and expires its pending approvals. Returns no waiting
/// prompts, because the provider ignores the answer.
pub(super) fn interrupted(
    app: &App,
    caller: &HookCaller,
    read_transcript: TranscriptReader<'_>,
) -> Result<HookOutcome> {
    if caller.is_subagent {
        return subagent_end(app, caller, None, read_transcript);
    }
    record_end(app, caller, read_transcript, |_, _, _| Ok(()))?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// Stores the usage of a turn that has ended, and pauses the session when a budget is spent.
fn record_end(
    app: &App,
    caller: &HookCaller,
    read_transcript: TranscriptReader<'_>,
    also: impl FnOnce(&WriteTx<'_>, &Session, Option<&NewUsage>) -> Result<()>,
) -> Result<Option<Session>> {
    let used = read_new_usage(app, caller, read_transcript)?;
    resolve_session::touch(app, caller, |tx, session| {
        store_usage(tx, session, used.as_ref())?;
        approval::expire_pending(tx, session, None)?;
        // Before prompts are read: a sender that comes later sees an idle session and wakes it.
        session_events::reported(tx, session, Activity::Idle, None, caller.source())?;
        session_reports::reset_turn(tx, &session.id)?;
        also(tx, session, used.as_ref())?;
        budget::settle(app, tx, &session.id)
    })
}

/// Stores the usage of an ended subagent as the session's.
pub(super) fn subagent_end(
    app: &App,
    caller: &HookCaller,
    transcript: Option<&Path>,
    read_transcript: TranscriptReader<'_>,
) -> Result<HookOutcome> {
    // Read from the start: its transcript is a separate file, and turns that are already stored are skipped by their keys.
    let used = transcript.and_then(|path| read_transcript(path, 0).ok());
    resolve_session::touch(app, caller, |tx, session| {
        if let Some(used) = &used {
            telemetry::store_turns(tx, session, &used.turns)?;
        }
        Ok(())
    })?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// Ends the session. If its program continues with another conversation, the session becomes idle instead. Leaves the session
/// alone when a supervisor reports its end.
pub(super) fn session_end(
    app: &App,
    caller: &HookCaller,
    reason: &str,
    continues: bool,
    read_transcript: TranscriptReader<'_>,
) -> Result<HookOutcome> {
    if caller.is_subagent {
        return subagent_end(app, caller, None, read_transcript);
    }
    let used = read_new_usage(app, caller, read_transcript)?;
    let own = app.actor.session.clone();
    resolve_session::touch(app, caller, |tx, session| {
        if caller.is_beside_supervisor(session) {
            return Ok(());
        }
        store_usage(tx, session, used.as_ref())?;
        approval::expire_pending(tx, session, None)?;
        if continues && own.as_ref() == Some(&session.id) {
            session_events::reported(tx, session, Activity::Idle, None, caller.source())?;
        } else {
            let session = lookup::session(tx, &session.id)?;
            let reason = format!("reported by its provider: {reason}");
            session_events::end(tx, &session, SessionStatus::Ended, None, Some(&reason))?;
        }
        Ok(())
    })?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// New usage, and the transcript that it was read from.
struct NewUsage {
    path: String,
    usage: TranscriptUsage,
}

/// Reads the usage added to the transcript since the last time. Returns `None` if the transcript cannot be read: it may not
/// exist yet.
fn read_new_usage(app: &App, caller: &HookCaller, read_transcript: TranscriptReader<'_>) -> Result<Option<NewUsage>> {
    let Some(path) = &caller.transcript else { return Ok(None) };
    let known = resolve_session::find_live(app, caller)?;
    let offset = app.read(|tx| match known {
        Some(id) => {
            let known = session_reports::find(tx, &id)?;
            Ok(if known.usage_path.as_ref() == Some(path) { known.usage_offset } else { 0 })
        }
        None => Ok(0),
    })?;
    let used = read_transcript(Path::new(path), u64::try_from(offset).unwrap_or_default()).ok();
    Ok(used.map(|used| NewUsage { path: path.clone(), usage: used }))
}

fn store_usage(tx: &WriteTx<'_>, session: &Session, new: Option<&NewUsage>) -> Result<()> {
    // A structured session reports its tokens by the protocol.
    let Some(NewUsage { path, usage: used }) = new.filter(|_| !session.is_structured()) else { return Ok(()) };
    telemetry::store_turns(tx, session, &used.turns)?;
    session_reports::set_usage_offset(tx, &session.id, path, i64::try_from(used.offset).unwrap_or_default())?;
    if let Some(share) = used.context {
        runtime::report_context_usage(tx, session, share)?;
    }
    Ok(())
}
