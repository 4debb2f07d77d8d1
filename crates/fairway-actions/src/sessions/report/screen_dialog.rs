//! The dialog of a provider's program that a launch saw on the screen: the session waits for a person before any hook can
//! report it.

use anyhow::Result;

use crate::App;
use crate::core::{lookup, session_events};
use fairway_core::domain::rules::session_machine::{Report, SessionEvent};
use fairway_core::domain::session::{Activity, SCREEN_SOURCE, Session};

/// Records the question that was found on a session's screen, or with `None` that it is gone. A session that has reported its
/// activity itself stays unchanged, because its reports are more exact.
pub(crate) fn record(app: &App, seen: &Session, question: Option<&str>) -> Result<()> {
    let (activity, question) = match question {
        Some(question) => (Activity::RequiresAction, Some(question)),
        None => (Activity::Unknown, None),
    };
    let is_news = |session: &Session| {
        (session.activity == Activity::Unknown || is_known(session))
            && (session.activity, session.waiting_for.as_deref()) != (activity, question)
    };
    if !is_news(seen) {
        return Ok(());
    }
    app.transaction(|tx| {
        let now = lookup::session(tx, &seen.id)?;
        if now.status.is_final() || now.run_id != seen.run_id || !is_news(&now) {
            return Ok(());
        }
        let shown = Report::of(activity, question, SCREEN_SOURCE);
        session_events::apply(tx, &now, &SessionEvent::Seen(shown)).map(drop)
    })
}

/// Whether a session counts as waiting for a person only because of a look at its screen.
pub(crate) fn is_known(session: &Session) -> bool {
    session.activity == Activity::RequiresAction && session.activity_source.as_deref() == Some(SCREEN_SOURCE)
}
