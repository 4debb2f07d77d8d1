//! The confirmation of a launch in the store.

use std::path::Path;

use anyhow::Result;

use super::{
    intent::{store_response, with_task},
    outcome::{LaunchOutcome, launch_answer},
    plan::LaunchPlan,
    purpose::Purpose,
};
use crate::{
    actions::{
        App,
        core::{errors, lookup},
        queue::checkpoint,
    },
    domain::{
        Event, EventKind,
        checkpoint::{CheckpointOrigin, CheckpointState},
        session::{Session, SessionStatus},
    },
    store::{WriteTx, checkpoints::CheckpointFields, sessions},
};

/// Records the outcome of the start. A session that its supervisor has ended meanwhile stays unchanged.
pub(crate) fn confirm(
    app: &App,
    tx: &WriteTx<'_>,
    plan: &LaunchPlan,
    outcome: &LaunchOutcome,
    branch: Option<&str>,
    notes: &[String],
) -> Result<Session> {
    let now = lookup::session(tx, &plan.session.id)?;
    if now.status.is_final() {
        return Ok(now);
    }
    let (report, key, status) = match outcome {
        LaunchOutcome::Running(report, key) => (report, key.clone(), SessionStatus::Running),
        LaunchOutcome::Unknown(report, _) => (report, None, now.status),
        LaunchOutcome::Ended => return Ok(now),
    };
    let started = key.as_ref().and_then(|key| i64::try_from(key.started).ok());
    let session = Session {
        status,
        pid: key.as_ref().map(|key| i64::from(key.pid)),
        pid_started: started,
        boot_id: key.map(|key| key.boot),
        pane: report.pane.clone(),
        socket: report.socket.clone().or_else(|| plan.socket.clone()),
        transcript: report.transcript.clone().or_else(|| now.transcript.clone().filter(|path| is_written(plan, path))),
        branch: now.branch.clone().or_else(|| branch.map(str::to_owned)),
        last_heartbeat_at: Some(tx.now()),
        ..now
    };
    if !sessions::update(tx, &session)? {
        return Err(errors::internal("the session was changed within one transaction"));
    }
    if status == SessionStatus::Running {
        let event = Event::new(EventKind::SessionRunning)
            .session(&session.id, &session.run_id)
            .lane(session.lane.as_ref())
            .with("pid", session.pid)
            .with("pane", session.pane.clone())
            .with("transcript", session.transcript.clone());
        tx.record(&with_task(&session, event))?;
        if !matches!(plan.purpose, Purpose::Switch(_)) {
            record_active_checkpoint(tx, &session)?;
        }
    }
    if let Some(request) = &app.idempotency_key {
        store_response(
            tx,
            request,
            &launch_answer(&session, &plan.purpose, plan.requested_id.as_ref(), notes.to_vec())?,
        )?;
    }
    Ok(session)
}

/// Whether the transcript is there. A script that is not ours need not write one.
fn is_written(plan: &LaunchPlan, transcript: &str) -> bool {
    plan.located.built_in.is_some() || Path::new(transcript).exists()
}

/// Records a checkpoint for a session that was launched for a task.
fn record_active_checkpoint(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    let Some(task) = &session.task else { return Ok(()) };
    let draft = CheckpointFields {
        task: task.clone(),
        session: Some(session.id.clone()),
        state: CheckpointState::Active,
        owner: Some(session.role.to_string()),
        summary: format!("session {} was launched", session.id),
        artifact: session.transcript.clone(),
        due_at: None,
        origin: Some(CheckpointOrigin::Launch),
    };
    checkpoint::insert(tx, &lookup::task(tx, task)?, &draft, Some(session))?;
    Ok(())
}
