//! Idle sessions, recognized by their screen: some providers call no hook when a person ends a turn. Only commands that write
//! look at screens, and any hook overrules the result.

use std::time::Duration;

use anyhow::Result;

use super::screen_dialog;
use crate::App;
use crate::core::{awaited_answer, lookup, session_events, usage_limit};
use crate::sessions::adapter_endpoint;
use crate::sessions::control::question;
use fairway_core::domain::SessionId;
use fairway_core::domain::parking::ParkingCause;
use fairway_core::domain::rules::screen_state::{IdleFacts, STILL_FOR, find_question, shows_any};
use fairway_core::domain::rules::session_machine::{Report, SessionEvent};
use fairway_core::domain::session::{Activity, SCREEN_SOURCE, Session};
use fairway_core::env::Timestamp;
use fairway_core::os::digest::sha256_hex;
use fairway_core::store::session_reports::{self, SeenScreen};
use fairway_core::store::{ReadTx, approvals, sessions};

/// How many lines of a screen are read.
pub(crate) const LINES: u32 = 60;

/// The result of a look at a session's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenVerdict {
    /// The session is idle; that was recorded just now.
    Idle,
    /// The turn may be over. Another look after this time can show that.
    LookAgain(Duration),
    /// The screen shows nothing about the session's state now.
    Nothing,
}

/// Selects the sessions whose screen is worth a look: it may show that their turn is over, or that a dialog seen before is
/// gone.
pub fn candidates<'a>(tx: &ReadTx<'_>, sessions: &'a [Session]) -> Result<Vec<&'a Session>> {
    let mut found = Vec::new();
    for session in sessions {
        if screen_dialog::is_known(session) || judged_from(tx, session, true)?.is_some() {
            found.push(session);
        }
    }
    Ok(found)
}

/// Looks at the screen of a session whose turn may be over, and records when that is so, or when a dialog seen before is gone.
/// A backend that cannot show the screen is no error. Calls the session's adapter: never inside a transaction.
pub fn look(app: &App, id: &SessionId) -> Result<ScreenVerdict> {
    if let Some(asked) = app.read(|tx| Ok(sessions::find(tx, id)?))?.filter(screen_dialog::is_known) {
        return look_for_dialog(app, &asked);
    }
    // Whether it is interrupted in a call shows on the screen: it is looked at for that as well.
    let Some((session, from)) = app.read(|tx| candidate(tx, id, true))? else { return Ok(ScreenVerdict::Nothing) };
    let Some(provider) = &session.provider else { return Ok(ScreenVerdict::Nothing) };
    if park_at_limit(app, &session)? {
        return Ok(ScreenVerdict::Idle);
    }
    let profile = app.settings.provider(provider.as_str()).profile;
    let interrupted_sign = profile.facts.interrupted_sign.unwrap_or_default();
    if interrupted_sign.is_empty() && app.read(|tx| candidate(tx, id, false))?.is_none() {
        return Ok(ScreenVerdict::Nothing);
    }
    let Some(working_sign) = profile.working_sign.filter(|signs| !signs.is_empty()) else {
        return Ok(ScreenVerdict::Nothing);
    };
    let now = app.env.now();
    if now < from {
        return Ok(ScreenVerdict::LookAgain(from.since(now)));
    }
    let Some((screen, last_output)) = read_screen(app, &session) else { return Ok(ScreenVerdict::Nothing) };
    let questions = [profile.trust_question, profile.permission_question].into_iter().flatten().flatten();
    let questions: Vec<String> = questions.collect();
    if shows_any(&screen, &working_sign) {
        return Ok(ScreenVerdict::LookAgain(STILL_FOR));
    }
    if find_question(&screen, &questions).is_some() {
        return Ok(ScreenVerdict::Nothing);
    }
    let is_interrupted = find_question(&screen, &interrupted_sign).is_some();
    record(app, &session, is_interrupted, &sha256_hex(screen.as_bytes()), last_output)
}

/// Parks a busy session whose transcript ends with a usage limit: not every agent calls a hook there. Returns whether it is one.
pub(crate) fn park_at_limit(app: &App, seen: &Session) -> Result<bool> {
    let Some(provider) = seen.provider.as_ref().filter(|_| seen.activity == Activity::Busy) else { return Ok(false) };
    let reports = app.read(|tx| Ok(session_reports::find(tx, &seen.id)?))?;
    let until = reports.usage_path.and_then(|path| usage_limit::at_end(app, provider, &path));
    let Some(until) = until else { return Ok(false) };
    app.transaction(|tx| {
        let session = lookup::session(tx, &seen.id)?;
        // A hook may have told of another turn meanwhile.
        if session.run_id != seen.run_id || session.activity_at != seen.activity_at {
            return Ok(false);
        }
        let idle = Report::of(Activity::Idle, None, SCREEN_SOURCE);
        let idle = session_events::apply(tx, &session, &SessionEvent::Seen(idle))?;
        let why = ParkingCause::usage_limit(provider);
        session_events::apply(tx, &idle, &SessionEvent::Parked { until, why: &why }).map(|_| true)
    })
}

/// Checks whether the dialog that a launch saw on the session's screen is still there.
fn look_for_dialog(app: &App, asked: &Session) -> Result<ScreenVerdict> {
    let words = ["session", "peek", asked.id.as_str()];
    let Ok(adapter) = adapter_endpoint::adapter(app, asked, &words) else { return Ok(ScreenVerdict::Nothing) };
    // What was scrolled away is no dialog any more.
    let shown = adapter.visible_screen(adapter_endpoint::backend_name(asked), LINES);
    let Ok(screen) = shown else { return Ok(ScreenVerdict::Nothing) };
    if find_question(&screen, &question::signs(app, asked)).is_some() {
        return Ok(ScreenVerdict::LookAgain(STILL_FOR));
    }
    screen_dialog::record(app, asked, None)?;
    Ok(ScreenVerdict::Nothing)
}

/// The session, with the time from which its screen can show that its turn is over. `None` when the screen cannot.
fn candidate(tx: &ReadTx<'_>, id: &SessionId, is_interrupted: bool) -> Result<Option<(Session, Timestamp)>> {
    let Some(session) = sessions::find(tx, id)? else { return Ok(None) };
    let from = judged_from(tx, &session, is_interrupted)?;
    Ok(from.map(|from| (session, from)))
}

/// The time from which the screen of a session can show that its turn is over; `None` when it cannot. `is_interrupted` is for a
/// screen that shows an interrupted turn: tool calls that have not ended then do not count.
pub(super) fn judged_from(tx: &ReadTx<'_>, session: &Session, is_interrupted: bool) -> Result<Option<Timestamp>> {
    if session.adapter_script.is_none() || session.is_structured() {
        return Ok(None);
    }
    let reports = session_reports::find(tx, &session.id)?;
    // Without a hook, nothing has told that a turn began.
    if reports.last_hook_at.is_none() {
        return Ok(None);
    }
    let facts = IdleFacts {
        session,
        last_hook_at: reports.last_hook_at,
        open_calls: reports.open_calls,
        // One that no hook waits for is denied by the end of the turn.
        has_pending_approval: approvals::pending_of(tx, &session.id)?
            .iter()
            .any(|one| one.answerable || !is_interrupted),
    };
    Ok(facts.judged_from(is_interrupted))
}

/// The screen of a session, with the time of its last output if the backend knows it. `None` when it cannot be read.
fn read_screen(app: &App, session: &Session) -> Option<(String, Option<Timestamp>)> {
    let adapter = adapter_endpoint::adapter(app, session, &["session", "peek", session.id.as_str()]).ok()?;
    if adapter_endpoint::belongs_to_other(&adapter, session) {
        return None;
    }
    let name = adapter_endpoint::backend_name(session);
    // The time is asked for first: output in between makes the screen newer than the time says, never older.
    let last_output = adapter.last_activity(name).ok().and_then(|text| Timestamp::parse(&text));
    let screen = adapter.peek(name, LINES).ok().filter(|screen| !screen.trim().is_empty())?;
    let unchanged = adapter.last_activity(name).ok().and_then(|text| Timestamp::parse(&text)) == last_output;
    Some((screen, last_output.filter(|_| unchanged)))
}

/// Records a screen without a sign of work, and marks the session as idle once the screen has not changed for long enough. A
/// hook that was called meanwhile takes precedence.
fn record(
    app: &App,
    seen: &Session,
    is_interrupted: bool,
    digest: &str,
    last_output: Option<Timestamp>,
) -> Result<ScreenVerdict> {
    app.transaction(|tx| {
        let session = lookup::session(tx, &seen.id)?;
        let Some((_, from)) = candidate(tx, &seen.id, is_interrupted)?.filter(|_| session.run_id == seen.run_id) else {
            return Ok(ScreenVerdict::Nothing);
        };
        let now = tx.now();
        if now < from {
            return Ok(ScreenVerdict::LookAgain(from.since(now)));
        }
        let known = session_reports::find(tx, &seen.id)?.screen.filter(|known| known.digest == digest);
        let known = known.map_or(now, |known| known.since);
        let since = last_output.map_or(known, |output| known.min(output));
        session_reports::set_screen(tx, &seen.id, &SeenScreen { digest: digest.to_owned(), since })?;
        let still_until = since.plus(STILL_FOR);
        if now < still_until {
            return Ok(ScreenVerdict::LookAgain(still_until.since(now)));
        }
        awaited_answer::expire_unanswerable(app, tx, &session)?;
        let idle = Report::of(Activity::Idle, None, SCREEN_SOURCE);
        session_events::apply(tx, &session, &SessionEvent::Seen(idle))?;
        Ok(ScreenVerdict::Idle)
    })
}
