//! Whether a session is dead, with its backend asked. Unknown is not dead.

use anyhow::Result;

use super::backend_probe::BackendProber;
use super::facts;
use crate::App;
use crate::core::dead_session::DeadSession;
use crate::core::{lookup, session_process};
use crate::sessions::launch::launch_lock::{self, LaunchState};
use fairway_core::domain::rules::death;
use fairway_core::domain::rules::staleness::BackendObservation;
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::{LaneName, TaskId};
use fairway_core::env::vars;
use fairway_core::os::process_tree;
use fairway_core::store::{claims, sessions};

/// Proves that a session is dead, or returns the reason why it may be alive: a session whose end is recorded may have left some
/// processes. Calls the backend: never inside a transaction.
///
/// # Errors
/// The reason, as a sentence without a period.
pub fn prove(app: &App, session: &Session, prober: &mut BackendProber) -> Result<DeadSession, String> {
    let alive = session_process::aliveness(session);
    if !session_process::is_local(session) {
        // Its processes are not to be seen from here, as those of this machine from an agent's sandbox.
        return death::proof(&alive, &BackendObservation::NotRecorded, 0).map(|why| DeadSession::new(session, why));
    }
    let launch = match session.status {
        SessionStatus::Starting => launch_lock::state(app, session),
        _ => LaunchState::Unknown,
    };
    // A launch that was interrupted starts nothing more, whatever its age.
    let settled = match launch {
        LaunchState::InProgress => return Err("its launch is in progress".to_owned()),
        LaunchState::Interrupted => &Session { status: SessionStatus::Running, ..session.clone() },
        LaunchState::Unknown => session,
    };
    let backend = match alive.alive {
        Some(true) => BackendObservation::NotRecorded,
        _ => prober.probe_anyway(app, settled, &facts::process_state(session), app.env.now()),
    };
    death::proof(&alive, &backend, remaining(session)?).map(|why| DeadSession::new(session, why))
}

/// The number of processes of a session's run on this host.
fn remaining(session: &Session) -> Result<usize, String> {
    let mut found = 0;
    // Twice: a process that starts another one and exits may hide both from one pass.
    for _ in 0..2 {
        // The second one: a backend script that starts it.
        for name in [vars::FAIRWAY_RUN_ID, vars::FAIRWAY_LAUNCH] {
            let left = process_tree::with_env_entry(&format!("{name}={}", session.run_id));
            found = found.max(left.map_err(|error| format!("cannot list processes: {error}"))?.len());
        }
    }
    Ok(found)
}

/// The dead sessions whose claims the acting session may continue: claims made in its own lane, on `task` or, without one, on any
/// task. Empty when no session acts, or when it has no lane.
pub fn predecessors(app: &App, task: Option<&TaskId>) -> Result<Vec<DeadSession>> {
    let Some(id) = &app.actor.session else { return Ok(Vec::new()) };
    let Some(lane) = app.read(|tx| Ok(sessions::find(tx, id)?))?.and_then(|session| session.lane) else {
        return Ok(Vec::new());
    };
    dead_claimants(app, Some(&lane), task)
}

/// The dead sessions with claims made in `lane`, on `task` or, without one, on any task. Empty without a lane.
pub fn dead_claimants(app: &App, lane: Option<&LaneName>, task: Option<&TaskId>) -> Result<Vec<DeadSession>> {
    if lane.is_none() {
        return Ok(Vec::new());
    }
    let judged = judge_claimants(app, lane, task)?;
    Ok(judged.into_iter().filter_map(|(_, judged)| judged.ok()).collect())
}

/// Judges every session with claims, except the acting one. With `lane` only claims that were made in this lane count, and with
/// `task` only those on this task. Each session comes with the proof that it is dead, or with the reason why it may be alive.
pub fn judge_claimants(
    app: &App,
    lane: Option<&LaneName>,
    task: Option<&TaskId>,
) -> Result<Vec<(Session, Result<DeadSession, String>)>> {
    let holders: Vec<Session> = app.read(|tx| {
        let ids = claims::claiming_sessions(tx, lane, task)?;
        ids.iter().filter(|id| app.actor.session.as_ref() != Some(id)).map(|id| lookup::session(tx, id)).collect()
    })?;
    let mut prober = BackendProber::new();
    Ok(holders
        .into_iter()
        .map(|session| {
            let judged = prove(app, &session, &mut prober);
            (session, judged)
        })
        .collect())
}
