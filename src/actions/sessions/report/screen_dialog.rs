//! The dialog of a provider's program that a launch saw on its screen: the session waits for a person, before any hook of it can
//! say so.

use anyhow::Result;

use super::activity::record_activity_change;
use crate::{
    actions::{
        App,
        core::{keepalive, lookup},
    },
    domain::session::{Activity, SCREEN_SOURCE, Session},
};

/// Records the question that a look at a session's screen has found, or that it is there no more. Only of a session that has
/// reported nothing: its own reports say more.
pub(in crate::actions) fn record(app: &App, seen: &Session, question: Option<&str>) -> Result<()> {
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
        let after = now.with_activity(activity, question, SCREEN_SOURCE, tx.now());
        keepalive::update_session(tx, &after)?;
        record_activity_change(tx, &now, &after)?;
        Ok(())
    })
}

/// Whether a session waits for a person by a look at its screen alone.
pub(in crate::actions) fn is_known(session: &Session) -> bool {
    session.activity == Activity::RequiresAction && session.activity_source.as_deref() == Some(SCREEN_SOURCE)
}
