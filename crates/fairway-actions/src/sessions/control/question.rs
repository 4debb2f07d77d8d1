//! The question that a session's program asks. A text that is typed at that moment becomes the answer, although its sender has
//! not seen the question.

use anyhow::Result;

use super::running_session::RunningSession;
use crate::App;
use fairway_core::adapters::AdapterError;
use fairway_core::config::ProviderProfile;
use fairway_core::domain::Refusal;
use fairway_core::domain::rules::screen_state;
use fairway_core::domain::session::{Activity, Session};
use fairway_core::store::sessions;

/// How many lines are read when the backend script cannot show the visible screen itself.
const SCREEN_LINES: u32 = 60;

/// Types a text into a session and submits it, unless the session's last report or its screen shows that it asks a question.
///
/// # Errors
/// `session_asks`; those of the backend, also when it cannot show the screen of a provider whose questions are known.
pub(crate) fn type_unless_asked(app: &App, live: &RunningSession, text: &[u8]) -> Result<()> {
    let signs = refuse_open_question(app, live)?;
    type_unless_shown(live, text, &signs)
}

/// Types a text into a session and submits it, unless its screen shows one of `signs`, the texts by which questions are
/// recognized.
pub(crate) fn type_unless_shown(live: &RunningSession, text: &[u8], signs: &[String]) -> Result<()> {
    let name = live.backend_name();
    if signs.is_empty() {
        return Ok(live.adapter.nudge(name, text)?);
    }
    match live.adapter.nudge_without_question(name, text, signs) {
        Err(busy @ AdapterError::Busy { .. }) => match on_screen(live, signs)? {
            Some(sign) => Err(asks(live, &sign, true)),
            None => Err(busy.into()),
        },
        done => Ok(done?),
    }
}

/// Fails with `session_parked`, and with `session_asks` when the session's last report or its screen shows that it asks a question. Otherwise returns the
/// texts by which questions of its provider's program are recognized.
pub(crate) fn refuse_open_question(app: &App, live: &RunningSession) -> Result<Vec<String>> {
    // The activity of now, not of the time when the session was found.
    let now = app.read(|tx| Ok(sessions::find(tx, &live.session.id)?))?;
    let clock = app.env.now();
    if let Some(now) = now.as_ref().filter(|now| now.is_parked(clock)) {
        let parking = now.parking(clock).unwrap_or_default();
        return Err(Refusal::SessionParked { session: now.id.clone(), parking }.into());
    }
    if let Some(now) = now.filter(|now| now.activity == Activity::RequiresAction) {
        let question = now.waiting_for.as_deref().unwrap_or("it requires action");
        return Err(asks(live, question, true));
    }
    refuse_shown_question(app, live)
}

/// Fails with `session_asks` while the session's screen shows a question. Otherwise returns the texts by which questions of its
/// provider's program are recognized.
pub(crate) fn refuse_shown_question(app: &App, live: &RunningSession) -> Result<Vec<String>> {
    let signs = signs(app, &live.session);
    match on_screen(live, &signs)? {
        Some(sign) => Err(asks(live, &sign, true)),
        None => Ok(signs),
    }
}

/// Fails with `session_asks` while the program asks whether a directory or hooks are trusted, because an interrupt would be
/// taken as the answer.
pub(crate) fn refuse_trust_question(app: &App, live: &RunningSession) -> Result<()> {
    let signs = profile(app, &live.session).trust_question.unwrap_or_default();
    on_screen(live, &signs)?.map_or(Ok(()), |sign| Err(asks(live, &sign, false)))
}

/// The texts on a screen by which trust and permission questions of the session's provider are recognized.
pub(crate) fn signs(app: &App, session: &Session) -> Vec<String> {
    let profile = profile(app, session);
    [profile.trust_question, profile.permission_question].into_iter().flatten().flatten().collect()
}

/// The profile of a session's provider; empty for a session without a provider, and for a structured session, which has neither
/// a screen nor keys.
pub(crate) fn profile(app: &App, session: &Session) -> ProviderProfile {
    let provider = session.provider.as_ref().filter(|_| !session.is_structured());
    provider.map(|label| app.settings.provider(label.as_str()).profile).unwrap_or_default()
}

/// The first of `signs` that is on the session's screen. `None` for a backend that shows no screen.
fn on_screen(live: &RunningSession, signs: &[String]) -> Result<Option<String>> {
    if signs.is_empty() {
        return Ok(None);
    }
    let shown = match live.adapter.visible_screen(live.backend_name(), SCREEN_LINES) {
        Ok(shown) => shown,
        Err(AdapterError::Unsupported { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(screen_state::find_question(&shown, signs).map(str::to_owned))
}

fn asks(live: &RunningSession, question: &str, typing: bool) -> anyhow::Error {
    let (session, is_structured) = (live.session.id.clone(), live.session.is_structured());
    Refusal::SessionAsks { session, question: question.to_owned(), typing, is_structured }.into()
}
