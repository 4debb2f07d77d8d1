//! Heartbeats of a session.

use anyhow::Result;

use super::context_threshold;
use crate::core::{lookup, session_events};
use crate::sessions::{budget, prompt};
use crate::{Answer, App};
use fairway_core::domain::rules::session_machine::{Report, SessionEvent};
use fairway_core::domain::session::{Activity, Session, SessionStatus};
use fairway_core::domain::{Refusal, RunId, SessionId, text_limits};
use fairway_core::store::WriteTx;
use fairway_core::wire::SessionView;

#[derive(Debug, Clone, Default)]
pub struct Heartbeat {
    pub activity: Option<Activity>,
    /// The text of the pending question, when the session requires action.
    pub waiting_for: Option<String>,
    /// How full its context is, 0 to 1.
    pub context_usage: Option<f64>,
    /// The session run that sends it.
    pub run_id: Option<RunId>,
}

/// Records a heartbeat: a starting or stale session becomes running, and the leases of its claims are renewed. A heartbeat that
/// changes nothing else records no event. One that reports the activity `idle` also delivers the queued messages of the session.
///
/// # Errors
/// `not_found`, `session_final`, `session_mismatch` for another session run, `usage`.
pub fn heartbeat(app: &App, id: &SessionId, beat: &Heartbeat) -> Result<Answer> {
    if let Some(text) = &beat.waiting_for {
        text_limits::check_line("waiting-for", text)?;
    }
    let own = app.actor.session.as_ref() == Some(id);
    let change = |tx: &WriteTx<'_>| {
        let session = lookup::session(tx, id)?;
        let run_id = beat.run_id.as_ref().or_else(|| app.actor.run_id.as_ref().filter(|_| own));
        session.check_open()?;
        session.check_run_id(run_id)?;
        let activity = beat.activity.unwrap_or(session.activity);
        if beat.waiting_for.is_some() && activity != Activity::RequiresAction {
            return Err(Refusal::Usage { why: "--waiting-for requires --activity requires_action".into() }.into());
        }
        let report = Report {
            activity: beat.activity,
            waiting_for: beat.waiting_for.as_deref(),
            context_usage: beat.context_usage,
            ..Report::without_activity("heartbeat", "a heartbeat")
        };
        // Another program may send it, and has read nothing.
        let proves_reading = own || beat.activity.is_some();
        let event = if proves_reading { SessionEvent::Reported(report) } else { SessionEvent::Lives(report) };
        let after = session_events::apply(tx, &session, &event)?;
        if beat.activity == Some(Activity::Idle) {
            budget::settle(app, tx, id)?;
        }
        let revived = match session.status {
            SessionStatus::Stale => " is running again (was stale)",
            SessionStatus::Starting => " is running (was starting)",
            _ => "",
        };
        let tells = |session: &Session| {
            (session.activity, session.waiting_for.clone(), session.context_usage.map(f64::to_bits))
        };
        let changed = tells(&session) != tells(&after);
        let is_handoff_requested = match beat.context_usage {
            Some(share) => context_threshold::check(tx, &after, share)?,
            None => false,
        };
        let now = if changed { format!(", {}", describe_activity(&after)) } else { String::new() };
        let after = lookup::session(tx, id)?;
        let answer = Answer::new(&SessionView::from(&after), id, format!("heartbeat: {id}{revived}{now}"))?;
        Ok(if is_handoff_requested {
            answer.note(format!("context of {id} is nearly full; a handoff was requested"))
        } else {
            answer
        })
    };
    // A session's own heartbeat touches the acting session already.
    let answer = if own { app.mutate_unattributed(change)? } else { app.mutate(change)? };
    Ok(prompt::deliver_when_idle(app, beat.activity, answer))
}

fn describe_activity(session: &Session) -> String {
    let waiting_for = session.waiting_for.as_ref().map(|text| format!(", waiting for: {text}")).unwrap_or_default();
    let usage = session.context_usage.map(|share| format!(", context {:.0} % full", share * 100.0)).unwrap_or_default();
    format!("{}{waiting_for}{usage}", session.activity)
}
