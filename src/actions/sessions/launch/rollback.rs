//! Rollback of a failed launch.

use std::time::Duration;

use anyhow::Result;

use super::{plan::LaunchPlan, purpose::Purpose};
use crate::actions::sessions::finish;
use crate::{
    actions::{App, core::lookup, queue::task::release},
    adapters::{Adapter, AdapterError},
    domain::{
        SessionId,
        session::{Activity, Session, SessionStatus},
    },
    env::vars,
    os::process_tree,
    store::{WriteTx, requests, sessions},
};

const TERMINATION_GRACE: Duration = Duration::from_secs(2);

/// Rolls a failed launch back: ends the processes of this session run, marks the session as failed, releases
/// the claim of a start, and deletes the intent so that the request may be repeated. Returns the error, with the steps of the rollback that failed.
pub(crate) fn roll_back(app: &App, plan: &LaunchPlan, adapter: &Adapter, error: AdapterError) -> anyhow::Error {
    let (id, name, run) = (&plan.session.id, plan.session.name(), &plan.session.run_id);
    let mut why = error.reason();
    // A supervisor that is stopped records no reason for a session that is stopping.
    if let Err(error) = app.transaction(|tx| mark_stopping(tx, id)) {
        why = format!("{why}; {error}");
    }
    if error.may_leave_session()
        && adapter.matches_session_run(name, run) != Some(false)
        && let Err(AdapterError::Failed { why: more, .. }) = adapter.stop(name)
    {
        why = format!("{why}; stopping it failed: {more}");
    }
    let tags = [vars::FAIRWAY_RUN_ID, vars::FAIRWAY_LAUNCH].map(|name| format!("{name}={run}"));
    let tagged = || tags.iter().map(|tag| process_tree::with_env_entry(tag)).collect::<std::io::Result<Vec<_>>>();
    match process_tree::terminate(TERMINATION_GRACE, || Ok(tagged()?.concat())) {
        Ok(left) if left.is_empty() => {}
        Ok(left) => {
            let pids: Vec<String> = left.iter().map(|key| key.pid.to_string()).collect();
            why = format!("{why}; still running: {}", pids.join(" "));
        }
        Err(error) => why = format!("{why}; cannot list its remaining processes: {error}"),
    }
    let recorded = app.transaction(|tx| {
        let session = lookup::session(tx, id)?;
        // The session goes back to its earlier program.
        let goes_back = matches!(&plan.purpose, Purpose::Switch(switch) if !switch.is_return);
        if !session.status.is_final() && !goes_back {
            finish(tx, &session, SessionStatus::Failed, None, Some(&why))?;
        }
        if let Some(claim) = plan.purpose.claim() {
            release::release_failed_start(tx, id, claim)?;
        }
        if let Some(request) = &app.idempotency_key {
            requests::delete(tx, &request.id)?;
        }
        Ok(())
    });
    match recorded {
        Ok(()) => anyhow::Error::new(error),
        Err(store) => store.context(why),
    }
}

fn mark_stopping(tx: &WriteTx<'_>, id: &SessionId) -> Result<()> {
    let session = lookup::session(tx, id)?;
    if !session.status.is_final() {
        sessions::update(tx, &Session { activity: Activity::Stopping, ..session })?;
    }
    Ok(())
}
