//! How a session's runtime fares, and its heartbeat.

use anyhow::Result;

use super::{report_activity, report_context_usage, session_of_run, touch};
use crate::{
    actions::{Answer, App, core::lookup, sessions::liveness::facts},
    domain::{
        Refusal,
        rules::health::{self, Health},
        secrets,
        session::{Activity, Session},
        text_limits,
    },
    env::Timestamp,
    store::{ReadTx, session_reports},
    wire::{HealthView, HeartbeatView},
};

/// Where activities come from that a heartbeat reports.
pub const SOURCE: &str = "heartbeat";

/// A runtime's heartbeat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HealthReport {
    /// The run.
    pub run_id: String,
    /// What it does.
    pub activity: Option<Activity>,
    /// What it waits for, when it requires action.
    pub waiting_for: Option<String>,
    /// How full its context is, 0 to 1.
    pub context_usage: Option<f64>,
    /// What is wrong; nothing when it says nothing.
    pub error: Option<String>,
}

/// How the runtime of a run fares, as far as it has told.
///
/// # Errors
/// `not_found`; as the store fails.
pub fn of_run(app: &App, run_id: &str) -> Result<HealthView> {
    app.read(|tx| view(app, tx, &session_of_run(tx, run_id)?, app.env.now()))
}

/// Takes in a heartbeat: a sign of life, with what else is told.
///
/// # Errors
/// `not_found`, `session_final`, `invalid_value`; `usage` when it waits for something without requiring action.
pub fn heartbeat(app: &App, report: &HealthReport) -> Result<Answer> {
    if let Some(share) = report.context_usage.filter(|share| !(0.0..=1.0).contains(share)) {
        return Err(Refusal::invalid("context_usage", format!("is {share}, not from 0 to 1")).into());
    }
    let words = |what, given: Option<&String>| given.map(|given| text_limits::check_line(what, given)).transpose();
    let waiting_for = words("waiting_for", report.waiting_for.as_ref())?.map(|words| secrets::mask(&words));
    let error = words("error", report.error.as_ref())?.map(|words| secrets::mask(&words));
    app.mutate_unattributed(|tx| {
        let session = session_of_run(tx, &report.run_id)?;
        session.check_open()?;
        let activity = report.activity.unwrap_or(session.activity);
        if waiting_for.is_some() && activity != Activity::RequiresAction {
            return Err(Refusal::Usage { why: "waiting_for goes with requires_action".into() }.into());
        }
        if report.activity.is_some() || waiting_for.is_some() {
            report_activity(tx, &session, activity, waiting_for.as_deref(), SOURCE)?;
        } else {
            touch(tx, &session)?;
        }
        let pressed = match report.context_usage {
            Some(share) => report_context_usage(app, tx, &session, share)?,
            None => false,
        };
        if session_reports::find(tx, &session.id)?.error != error {
            session_reports::set_error(tx, &session.id, error.as_deref())?;
        }
        let health = view(app, tx, &lookup::session(tx, &session.id)?, tx.now())?;
        let line = format!("heard {}: {}", session.id, health.status);
        Answer::new(&HeartbeatView { health, pressed }, &session.id, line)
    })
}

fn view(app: &App, tx: &ReadTx<'_>, session: &Session, now: Timestamp) -> Result<HealthView> {
    let reports = session_reports::find(tx, &session.id)?;
    let health = health::assess(
        &health::HealthFacts {
            session,
            error: reports.error.as_deref(),
            stale_after: facts::stale_after(app, session),
            context_threshold: app.settings.agents.context_threshold,
        },
        now,
    );
    let Health { status, why } = health;
    Ok(HealthView {
        status: status.as_str(),
        run_id: session.run_id.clone(),
        uptime_seconds: session.ended_at.unwrap_or(now).since(session.started_at).as_secs(),
        current_state: session.activity.as_str(),
        last_activity: session.last_seen().to_string(),
        context_usage: session.context_usage,
        error: why,
    })
}
