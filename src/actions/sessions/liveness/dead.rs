//! Whether a session is dead: on its own host nothing of its run is alive. Unknown is not dead.

use anyhow::Result;

use super::{backend_probe::BackendProber, facts};
use crate::{
    actions::{
        App,
        core::{lookup, session_end::DeadSession},
        sessions::launch::launch_lock::{self, LaunchState},
    },
    domain::{
        LaneName, TaskId,
        rules::liveness::{BackendObservation, ProcessObservation},
        session::{Session, SessionStatus},
    },
    env::vars,
    os::{host, process_tree},
    store::{claims, sessions},
};

/// Proves that a session is dead, or returns the reason why it may be alive. The recorded status does not count where the
/// processes can be seen, because an ended session may have left some. Calls the backend: never inside a transaction.
///
/// # Errors
/// The reason, as a sentence without a period.
pub fn prove(app: &App, session: &Session, prober: &mut BackendProber) -> Result<DeadSession, String> {
    let here = host::identity();
    if !here.owns(&session.host, session.host_id.as_deref()) {
        // The processes of this machine are not to be seen from an agent's sandbox. A recorded end is proof enough there.
        let is_recorded =
            session.status.is_final() && session.host_id.as_deref().is_some_and(|id| here.is_of_machine(id));
        if is_recorded {
            let why = session.reason.clone().unwrap_or_else(|| format!("its session is {}", session.status));
            return Ok(DeadSession::new(session, why));
        }
        return Err(format!("it runs on {}", session.host));
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
    let process = facts::process_state(session);
    let root = match &process {
        ProcessObservation::Alive => return Err(format!("process {} is alive", session.pid.unwrap_or_default())),
        ProcessObservation::Unknown(why) | ProcessObservation::Orphaned(why) => return Err(why.clone()),
        ProcessObservation::Gone(why) => Some(why.clone()),
        ProcessObservation::NotRecorded => None,
    };
    let why = match (prober.probe_anyway(app, settled, &process, app.env.now()), root) {
        (BackendObservation::Alive, _) => return Err("its backend reports that it is running".to_owned()),
        (_, Some(why)) | (BackendObservation::Gone(why), None) => why,
        (BackendObservation::Unknown(why), None) => return Err(why),
        (BackendObservation::NotRecorded, None) => return Err("no process and no backend is recorded".to_owned()),
    };
    // Twice: a process that starts another one and exits may hide both from one pass.
    for _ in 0..2 {
        // The second one: a backend script that starts it.
        for name in [vars::FAIRWAY_RUN_ID, vars::FAIRWAY_LAUNCH] {
            let entry = format!("{name}={}", session.run_id);
            let left = process_tree::with_env_entry(&entry);
            let left = left.map_err(|error| format!("cannot list processes: {error}"))?;
            if let Some(key) = left.first() {
                return Err(format!("process {} of its session run is alive", key.pid));
            }
        }
    }
    Ok(DeadSession::new(session, why))
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
