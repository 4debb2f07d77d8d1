//! The records of a launch in the store: its intent before the start, the outcome of the start, and the answer for a repeat of
//! the request.

use std::path::Path;

use anyhow::Result;

use super::outcome::{LaunchOutcome, launch_answer};
use super::plan::LaunchPlan;
use super::purpose::Purpose;
use super::session_id;
use crate::core::dead_session::DeadSession;
use crate::core::launch_event::{OWN_COMMAND, OWN_ENV, SANDBOX, SANDBOX_NETWORK, SWITCHED_FROM};
use crate::core::{lookup, session_events};
use crate::queue::checkpoint;
use crate::queue::task::claim::{self, StartClaim};
use crate::sessions::claim::with_dead;
use crate::sessions::liveness::backend_probe::BackendProber;
use crate::sessions::liveness::dead;
use crate::sessions::{actor, prompt};
use crate::{Answer, App};
use fairway_core::adapters::AdapterError;
use fairway_core::domain::checkpoint::{CheckpointOrigin, CheckpointState};
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::sandbox::{SandboxClass, SandboxNetwork};
use fairway_core::domain::session::{Session, SessionStatus};
use fairway_core::domain::{Event, EventKind, Refusal, SessionId, TaskId};
use fairway_core::store::checkpoints::CheckpointFields;
use fairway_core::store::{WriteTx, events, lanes, sessions};
use fairway_core::wire::SessionView;

/// The line of a stored answer while the launch is not complete.
const INTENT_LINE: &str = "intended";

/// The answer of an earlier launch with the same `--request-id`; `None` when there was none.
///
/// # Errors
/// `request_reused`; `launch_failed` when it failed or was interrupted.
pub fn previous_result(app: &App) -> Result<Option<Answer>> {
    app.stored_response()?.map(|answer| resolve_previous(app, answer, &Purpose::Launch)).transpose()
}

pub(crate) fn resolve_previous(app: &App, answer: Answer, purpose: &Purpose) -> Result<Answer> {
    if answer.line != INTENT_LINE {
        return Ok(answer);
    }
    let id = SessionId::parse(answer.ids.first().map(String::as_str).unwrap_or_default())?;
    let (session, ran) = app.read(|tx| {
        let ran = events::newest_of_session(tx, &id, |kind| kind == EventKind::SessionRunning)?;
        Ok((lookup::session(tx, &id)?, ran.is_some()))
    })?;
    match session.status {
        SessionStatus::Stale if !ran => {
            let why = format!(
                "the launch of {id} was interrupted and never confirmed; launch again without this --request-id"
            );
            Err(AdapterError::PreviousFailed { why, retryable: false }.into())
        }
        SessionStatus::Running | SessionStatus::Stale | SessionStatus::Ended => {
            launch_answer(&session, purpose, None, Vec::new())
        }
        SessionStatus::Starting => {
            let why = format!(
                "the launch of {id} is in progress or was interrupted; to resolve it: fairway session reconcile"
            );
            Err(AdapterError::PreviousFailed { why, retryable: true }.into())
        }
        SessionStatus::Failed => {
            let reason = session.reason.unwrap_or_else(|| "unknown reason".into());
            Err(AdapterError::PreviousFailed { why: format!("{id} has failed: {reason}"), retryable: false }.into())
        }
    }
}

/// Whether a stored answer is only the intent of a launch that is not complete.
pub(crate) fn is_unfinished(answer: &Answer) -> bool {
    answer.line == INTENT_LINE
}

/// The session of an earlier request with the same `--request-id` whose launch is not complete.
///
/// # Errors
/// `request_reused`.
fn unfinished(app: &App) -> Result<Option<Session>> {
    let Some(answer) = app.stored_response()?.filter(|answer| answer.line == INTENT_LINE) else { return Ok(None) };
    let id = SessionId::parse(answer.ids.first().map(String::as_str).unwrap_or_default())?;
    app.read(|tx| Ok(sessions::find(tx, &id)?))
}

/// Records the ends of dead sessions with claims in the lane of a launch, unless the launch itself continues a claim. The
/// launched agent may be in a sandbox from which it cannot see that they are dead, so it relies on these records.
pub(super) fn end_dead_claimants(app: &App, plan: &LaunchPlan) -> Result<()> {
    let continues = match &plan.purpose {
        Purpose::Launch => false,
        Purpose::Start(start) => start.claims,
        Purpose::Relaunch(_) | Purpose::Switch(_) => true,
    };
    let lane = plan.session.lane.as_ref().filter(|_| !continues);
    for dead in dead::dead_claimants(app, lane, None)? {
        app.transaction(|tx| match dead.confirm(tx)? {
            Some(session) => dead.end(tx, &session),
            None => Ok(()),
        })?;
    }
    Ok(())
}

/// The result of recording an intent.
pub(crate) enum Recorded {
    /// Nothing was recorded, because an earlier request with the same key has this answer.
    Earlier(Answer),
    /// The session is starting.
    Starting,
    /// The session is starting and has this claim.
    Claimed(StartClaim),
    /// The session is starting and has continued the claims on these tasks.
    Continued(Vec<TaskId>),
}

/// Records the intent of a launch, with the claim of a start. Before that, outside of the transaction, it finds out which
/// sessions are dead.
pub(super) fn record(app: &App, plan: &LaunchPlan) -> Result<Recorded> {
    let look = || dead_predecessors(app, plan);
    with_dead(app, look, |dead| app.transaction(|tx| record_intent(app, tx, plan, dead)))
}

/// The dead sessions whose claims a start may continue, and the dead session whose unfinished request is repeated.
fn dead_predecessors(app: &App, plan: &LaunchPlan) -> Result<Vec<DeadSession>> {
    let (lane, task) = (plan.session.lane.as_ref(), plan.session.task.as_ref());
    let mut dead = match plan.purpose {
        Purpose::Launch | Purpose::Switch(_) => return Ok(Vec::new()),
        Purpose::Start(_) => dead::dead_claimants(app, lane, task)?,
        Purpose::Relaunch(_) => Vec::new(),
    };
    if let Some(unfinished) = unfinished(app)?
        && dead.iter().all(|dead| dead.id != unfinished.id)
    {
        dead.extend(dead::prove(app, &unfinished, &mut BackendProber::new()));
    }
    Ok(dead)
}

/// Records the session as starting, with the request's intent and the claim of a start. `dead` are the dead sessions whose
/// claims a start may continue, and whose unfinished request it may take over.
fn record_intent(app: &App, tx: &WriteTx<'_>, plan: &LaunchPlan, dead: &[DeadSession]) -> Result<Recorded> {
    if let Some(request) = &app.idempotency_key
        && let Some(earlier) = request.stored_response(tx)?
    {
        let is_of_dead = dead.iter().any(|dead| earlier.ids.first().is_some_and(|id| id == dead.id.as_str()));
        if earlier.line != INTENT_LINE || !is_of_dead {
            return Ok(Recorded::Earlier(earlier));
        }
    }
    let predecessors = match &plan.purpose {
        Purpose::Relaunch(relaunch) => relaunch.end_predecessors(tx)?,
        Purpose::Launch | Purpose::Start(_) | Purpose::Switch(_) => Vec::new(),
    };
    app.record_act(tx)?;
    let session = &plan.session;
    let earlier = sessions::find(tx, &session.id)?;
    if let Some(earlier) = &earlier
        && !matches!(plan.purpose, Purpose::Switch(_))
        && !session_id::is_failed_launch(tx, earlier)?
    {
        return Err(Refusal::AlreadyExists { noun: "session", id: session.id.to_string() }.into());
    }
    // The plan read them in an earlier transaction.
    if let Some(lane) = &session.lane {
        let lane = lookup::lane(tx, lane)?;
        // A lane of an earlier version names no host.
        if lane.host_id.is_none() && lane.worktree.is_some() && lane.worktree == session.worktree {
            lanes::upsert(tx, &lane.on_host(session.host.clone(), session.host_id.clone()))?;
        }
    }
    if let Some(task) = &session.task {
        lookup::task(tx, task)?;
    }
    match earlier {
        Some(_) if let Purpose::Switch(switch) = &plan.purpose => switch.record(tx, session)?,
        // A launch that failed: its events stay, its row becomes this session's.
        Some(earlier) => session_events::replace(tx, &earlier, session.clone())?,
        None => session_events::insert(tx, session)?,
    }
    if let Some(text) = &plan.first_prompt {
        prompt::queue_first(app, tx, &session.id, text)?;
    }
    let switched_from = match &plan.purpose {
        Purpose::Switch(switch) => switch.from.backend.clone(),
        Purpose::Launch | Purpose::Start(_) | Purpose::Relaunch(_) => None,
    };
    let event = Event::new(EventKind::SessionStarting)
        .session(&session.id, &session.run_id)
        .lane(session.lane.as_ref())
        .with("role", session.role.as_str())
        .with("provider", session.provider.as_ref().map(ToString::to_string))
        .with("backend", session.backend.clone())
        .with(SWITCHED_FROM, switched_from)
        .with(OWN_COMMAND, plan.own.command)
        .with(OWN_ENV, plan.own.env.clone())
        .with(SANDBOX, session.sandbox.map(SandboxClass::as_str))
        .with(SANDBOX_NETWORK, plan.network.map(SandboxNetwork::as_str))
        .with("relaunch_of", session.relaunch_of.as_ref().map(ToString::to_string));
    tx.record(&with_task(session, event))?;
    let claimant = || app.with_actor(actor::of_session(session), None);
    let recorded = match (&plan.purpose, &session.task) {
        (Purpose::Start(start), Some(task)) if start.claims => {
            Recorded::Claimed(claim::claim_at_start(&claimant(), tx, session, task, dead)?)
        }
        (Purpose::Relaunch(_), _) => {
            Recorded::Continued(claim::continue_at_relaunch(&claimant(), tx, session, &predecessors)?)
        }
        _ => Recorded::Starting,
    };
    if let Some(request) = &app.idempotency_key {
        request.store_response(tx, &Answer::new(&SessionView::from(session), &session.id, INTENT_LINE)?)?;
    }
    Ok(recorded)
}

/// Records the outcome of the start, and stores the answer under the `--request-id`. A session that has ended, or whose end the
/// supervisor has recorded meanwhile, stays unchanged.
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
    let (report, key, is_running) = match outcome {
        LaunchOutcome::Running(report, key) => (report, key.clone(), true),
        LaunchOutcome::Unknown(report, _) => (report, None, false),
        LaunchOutcome::Ended => return Ok(now),
    };
    let started = key.as_ref().and_then(|key| i64::try_from(key.started).ok());
    let facts = Session {
        pid: key.as_ref().map(|key| i64::from(key.pid)),
        pid_started: started,
        boot_id: key.map(|key| key.boot),
        pane: report.pane.clone(),
        socket: report.socket.clone().or_else(|| plan.socket.clone()),
        transcript: report.transcript.clone().or_else(|| now.transcript.clone().filter(|path| is_written(plan, path))),
        branch: now.branch.clone().or_else(|| branch.map(str::to_owned)),
        ..now.clone()
    };
    let session = session_events::apply(tx, &now, &SessionEvent::Launched { facts: &facts, is_running })?;
    if session.status == SessionStatus::Running {
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
        let answer = launch_answer(&session, &plan.purpose, plan.requested_id.as_ref(), notes.to_vec())?;
        request.store_response(tx, &answer)?;
    }
    Ok(session)
}

/// Whether the transcript exists. An external backend script need not write one.
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

fn with_task(session: &Session, event: Event) -> Event {
    match &session.task {
        Some(task) => event.task(task),
        None => event,
    }
}
