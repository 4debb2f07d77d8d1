//! Health and heartbeats of runtimes.

use anyhow::Result;

use super::{report_context_usage, session_of_run};
use crate::core::{lookup, session_events};
use crate::sessions::budget;
use crate::sessions::report::context_threshold;
use crate::{Answer, App};
use fairway_core::domain::rules::runtime_health::{self, Health};
use fairway_core::domain::session::{Activity, Session};
use fairway_core::domain::{Refusal, RunId, secrets, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, session_reports};
use fairway_core::wire::{HealthView, HeartbeatView};

/// The source of activity reported by heartbeats.
pub const SOURCE: &str = "heartbeat";

#[derive(Debug, Clone, PartialEq)]
pub struct HealthReport {
    pub run_id: RunId,
    pub activity: Option<Activity>,
    /// The input that the session waits for, when it requires action.
    pub waiting_for: Option<String>,
    /// Context usage, from 0 to 1.
    pub context_usage: Option<f64>,
    /// An error of the runtime; `None` clears it.
    pub error: Option<String>,
}

/// The health of the session with this `run_id`, as its runtime reported it.
///
/// # Errors
/// `not_found`; store errors.
pub fn of_run(app: &App, run_id: &RunId) -> Result<HealthView> {
    app.read(|tx| view(app, tx, &session_of_run(tx, run_id)?, app.env.now()))
}

/// Records a report of a runtime, which also proves its session alive.
///
/// # Errors
/// `not_found`, `session_final`, `invalid_value`; `usage` for `waiting_for` without `requires_action`.
pub fn heartbeat(app: &App, report: &HealthReport) -> Result<Answer> {
    if let Some(share) = report.context_usage.filter(|share| !(0.0..=1.0).contains(share)) {
        return Err(Refusal::invalid("context_usage", format!("must be from 0 to 1, not {share}")).into());
    }
    let check = |what, given: Option<&String>| given.map(|given| text_limits::check_line(what, given)).transpose();
    let waiting_for = check("waiting_for", report.waiting_for.as_ref())?.map(|text| secrets::mask(&text));
    let error = check("error", report.error.as_ref())?.map(|text| secrets::mask(&text));
    app.mutate_unattributed(|tx| {
        let session = session_of_run(tx, &report.run_id)?;
        session.check_open()?;
        let activity = report.activity.unwrap_or(session.activity);
        if waiting_for.is_some() && activity != Activity::RequiresAction {
            return Err(Refusal::Usage { why: "waiting_for requires the activity requires_action".into() }.into());
        }
        if report.activity.is_some() || waiting_for.is_some() {
            session_events::reported(tx, &session, activity, waiting_for.as_deref(), SOURCE)?;
            budget::settle(app, tx, &session.id)?;
        } else {
            session_events::heard(tx, &session)?;
        }
        let pressed = match report.context_usage {
            Some(share) => report_context_usage(tx, &session, share)?,
            None => false,
        };
        if session_reports::find(tx, &session.id)?.error != error {
            session_reports::set_error(tx, &session.id, error.as_deref())?;
        }
        let health = view(app, tx, &lookup::session(tx, &session.id)?, tx.now())?;
        let line = format!("heartbeat: {} is {}", session.id, health.status);
        Answer::new(&HeartbeatView { health, pressed }, &session.id, line)
    })
}

fn view(app: &App, tx: &ReadTx<'_>, session: &Session, now: Timestamp) -> Result<HealthView> {
    let reports = session_reports::find(tx, &session.id)?;
    let health = runtime_health::assess(
        &runtime_health::HealthFacts {
            session,
            error: reports.error.as_deref(),
            stale_after: app.settings.sessions.stale_after,
            context_threshold: context_threshold::FULL_AT,
        },
        now,
    );
    let Health { status, why } = health;
    Ok(HealthView {
        status,
        run_id: session.run_id.to_string(),
        uptime_seconds: session.ended_at.unwrap_or(now).since(session.started_at).as_secs(),
        current_state: session.activity,
        last_activity: session.last_seen().to_string(),
        context_usage: session.context_usage,
        error: why,
    })
}
