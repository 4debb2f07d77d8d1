//! Silence, judged when sessions are read: a session is stale for a reader as soon as `session reconcile` would mark it. No
//! backend is queried.

use std::collections::BTreeSet;
use std::time::Duration;

use super::facts;
use crate::App;
use fairway_core::domain::age;
use fairway_core::domain::rules::staleness::{self, Liveness, StaleCause};
use fairway_core::domain::session::SessionStatus;
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::env::Timestamp;

/// Marks the sessions that have been silent for too long, and those that the acting person or session has stopped. When many of
/// `sessions` are silent at once, the clock is probably wrong, and none is marked as silent; sessions of `silent_hosts` do not
/// count for that. Returns whether the marks were withheld for that reason.
pub fn judge(app: &App, sessions: &mut [SessionOverview], now: Timestamp, silent_hosts: &BTreeSet<String>) -> bool {
    let mut verdicts: Vec<Liveness> = sessions.iter().map(|one| assess(app, one, now)).collect();
    let is_counted = |one: &SessionOverview| one.session.host_id.as_ref().is_none_or(|id| !silent_hosts.contains(id));
    let counted = sessions.iter().zip(&mut verdicts).filter(|(one, _)| is_counted(one) && !one.is_over());
    let is_suppressed = staleness::suppress_mass_stale(counted.map(|(one, verdict)| (&one.session, verdict)));
    for (one, verdict) in sessions.iter_mut().zip(verdicts) {
        one.is_stopped_by_reader = one.stopped_by() == Some(app.actor.name.as_str());
        one.silence = match verdict {
            Liveness::Stale(cause, why) if is_open(one) => Some(reason(app, cause, why)),
            _ => None,
        };
    }
    is_suppressed
}

/// When a session becomes stale if it sends nothing more; `None` when time alone does not change its state.
pub fn deadline(app: &App, one: &SessionOverview) -> Option<Timestamp> {
    if one.is_over() || one.is_stale() || !is_open(one) || one.alive.alive == Some(true) {
        return None;
    }
    let session = &one.session;
    let after = |at: Timestamp, limit: Duration| at.plus(limit + Duration::from_millis(1));
    let silent = app.settings.sessions.stale_after.map(|limit| after(session.last_seen(), limit));
    let is_starting = session.status == SessionStatus::Starting;
    let launched = is_starting.then(|| after(session.started_at, app.settings.sessions.launch_timeout));
    silent.into_iter().chain(launched).min()
}

fn is_open(one: &SessionOverview) -> bool {
    matches!(one.session.status, SessionStatus::Starting | SessionStatus::Running)
}

fn assess(app: &App, one: &SessionOverview, now: Timestamp) -> Liveness {
    if one.is_over() || one.alive.alive == Some(true) {
        return Liveness::Unobservable;
    }
    let session = &one.session;
    facts::assess(app, session, &facts::process_state(session), &facts::unprobed_backend(session), now)
}

/// The reason without a duration, so that it stays the same while the session is silent.
fn reason(app: &App, cause: StaleCause, why: String) -> String {
    match (cause, app.settings.sessions.stale_after) {
        (StaleCause::NoHeartbeat, Some(limit)) => format!("no heartbeat for more than {}", age::rough(limit)),
        (StaleCause::LaunchTimeout, _) => "its launch was never confirmed".to_owned(),
        _ => why,
    }
}
