//! A launch: intend, do, record. It claims nothing; when it fails it leaves no running session and no process behind.

use std::time::Duration;

use anyhow::Result;

use super::{finish, plan::Plan};
use crate::{
    actions::{
        Answer, App,
        app::{Request, remembered},
        failure, lookup,
    },
    adapters::{Adapter, AdapterError, Known, Report},
    domain::{
        Event, Kind, Refusal, SessionId,
        checkpoint::CheckpointState,
        session::{Activity, Session, SessionStatus},
    },
    env::vars,
    os::{process::ProcessKey, tree, wait},
    store::{
        WriteTx,
        checkpoints::{self, Draft},
        events, requests, sessions, tasks,
    },
    wire::SessionView,
};

/// What an intention's answer says until the launch has settled.
const INTENDED: &str = "intended";
/// How long a supervisor may take to record that its program has ended.
const RECORDING: Duration = Duration::from_secs(3);
const GRACE: Duration = Duration::from_secs(2);

/// How a start turned out.
enum Outcome {
    /// It runs; the process where the script told one.
    Running(Box<Report>, Option<ProcessKey>),
    /// It was started, and whether it runs cannot be told.
    Unknown(Box<Report>, String),
    /// It has ended again.
    Ended,
}

/// What became of an earlier launch under the same `--request-id`; `None` when there was none.
///
/// # Errors
/// `request_reused`; `launch_failed` when it failed or was cut off.
pub fn before(app: &App) -> Result<Option<Answer>> {
    let Some(request) = &app.request else { return Ok(None) };
    let Some(answer) = app.read(|tx| remembered(tx, request))? else { return Ok(None) };
    became(app, answer).map(Some)
}

fn became(app: &App, answer: Answer) -> Result<Answer> {
    if answer.line != INTENDED {
        return Ok(answer);
    }
    let id = SessionId::parse(answer.ids.first().map(String::as_str).unwrap_or_default())?;
    let (session, ran) = app.read(|tx| {
        let ran = events::newest_of_session(tx, &id, |kind| kind == Kind::SessionRunning)?;
        Ok((lookup::session(tx, &id)?, ran.is_some()))
    })?;
    match session.status {
        SessionStatus::Stale if !ran => {
            let why =
                format!("the launch of {id} was cut off and never confirmed; launch anew, without this request id");
            Err(AdapterError::Before { why, retryable: false }.into())
        }
        SessionStatus::Running | SessionStatus::Stale | SessionStatus::Ended => said(&session, Vec::new()),
        SessionStatus::Starting => {
            let why = format!("the launch of {id} is going on or was cut off; fairway session reconcile settles it");
            Err(AdapterError::Before { why, retryable: true }.into())
        }
        SessionStatus::Failed => {
            let reason = session.reason.unwrap_or_else(|| "for no known reason".into());
            Err(AdapterError::Before { why: format!("{id} has failed: {reason}"), retryable: false }.into())
        }
    }
}

/// Does what was planned.
///
/// # Errors
/// `adapter_failed`, `adapter_timeout`, `adapter_busy`, `session_exists`, `program_failed`: the session is then `failed`,
/// nothing of it runs, and no task has changed.
pub fn launch(app: &App, plan: Plan) -> Result<Answer> {
    let script = plan.located.script.clone();
    if let Some(built_in) = plan.located.built_in {
        built_in.unpack(&app.env).map_err(|source| AdapterError::Unrunnable { script: script.clone(), source })?;
    }
    let adapter = Adapter::new(&script, &plan.state, &app.project.root, &app.env).map_err(failure::internal)?;
    if let Some(earlier) = app.write(|tx| intend(app, tx, &plan))? {
        return became(app, earlier);
    }
    let id = &plan.session.id;
    let started = adapter.start(id.as_str(), &plan.start, plan.limit).map(|report| outcome(&adapter, &plan, report));
    match started {
        Err(error) => Err(failed(app, &plan, &adapter, error)),
        Ok(Outcome::Ended) => ended(app, &plan, &adapter),
        Ok(outcome) => {
            let session = app.write(|tx| confirm(app, tx, &plan, &outcome))?;
            if session.status.is_final() {
                return ended(app, &plan, &adapter);
            }
            let mut remarks = plan.remarks.clone();
            if let Outcome::Unknown(_, why) = outcome {
                remarks.push(format!("whether {id} runs cannot be told: {why}"));
            }
            said(&session, remarks)
        }
    }
}

/// Records the session as starting, together with the request's intention. `Some` is what the request was answered with
/// before.
fn intend(app: &App, tx: &WriteTx<'_>, plan: &Plan) -> Result<Option<Answer>> {
    if let Some(request) = &app.request
        && let Some(earlier) = remembered(tx, request)?
    {
        return Ok(Some(earlier));
    }
    if let Some(acting) = &app.actor.session {
        lookup::session(tx, acting)?;
        sessions::touch(tx, acting)?;
        tasks::renew_leases(tx, &app.actor.name, None)?;
    }
    let session = &plan.session;
    if sessions::find(tx, &session.id)?.is_some() {
        return Err(Refusal::Exists { noun: "session", id: session.id.to_string() }.into());
    }
    // Both may have gone since they were looked at.
    if let Some(lane) = &session.lane {
        lookup::lane(tx, lane)?;
    }
    if let Some(task) = &session.task {
        lookup::task(tx, task)?;
    }
    sessions::insert(tx, session)?;
    let event = Event::new(Kind::SessionStarting)
        .session(&session.id, &session.run_id)
        .lane(session.lane.as_ref())
        .with("role", session.role.as_str())
        .with("provider", session.provider.as_ref().map(ToString::to_string))
        .with("backend", session.backend.clone());
    tx.record(&about(session, event))?;
    if let Some(request) = &app.request {
        remember(tx, request, &Answer::new(&SessionView::from(session), &session.id, INTENDED)?)?;
    }
    Ok(None)
}

fn remember(tx: &WriteTx<'_>, request: &Request, answer: &Answer) -> Result<()> {
    let text = serde_json::to_string(answer).map_err(failure::internal)?;
    Ok(requests::put(tx, &request.id, &request.words, Some(&text))?)
}

fn about(session: &Session, event: Event) -> Event {
    match &session.task {
        Some(task) => event.task(task),
        None => event,
    }
}

/// What a script's success amounts to.
fn outcome(adapter: &Adapter, plan: &Plan, report: Option<Report>) -> Outcome {
    let report = Box::new(report.unwrap_or_default());
    if let Some(pid) = report.pid {
        return match ProcessKey::of(pid) {
            Some(key) if report.status.as_deref() != Some("ended") => Outcome::Running(report, Some(key)),
            _ => Outcome::Ended,
        };
    }
    match adapter.is_running(plan.session.id.as_str()) {
        Known::Yes => Outcome::Running(report, None),
        Known::No => Outcome::Ended,
        Known::Unknown(why) => Outcome::Unknown(report, why),
    }
}

/// Records what came back. A session that its own supervisor has ended meanwhile stays as it is.
fn confirm(app: &App, tx: &WriteTx<'_>, plan: &Plan, outcome: &Outcome) -> Result<Session> {
    let now = lookup::session(tx, &plan.session.id)?;
    if now.status.is_final() {
        return Ok(now);
    }
    let (report, key, status) = match outcome {
        Outcome::Running(report, key) => (report, key.clone(), SessionStatus::Running),
        Outcome::Unknown(report, _) => (report, None, now.status),
        Outcome::Ended => return Ok(now),
    };
    let started = key.as_ref().and_then(|key| i64::try_from(key.started).ok());
    let session = Session {
        status,
        pid: key.as_ref().map(|key| i64::from(key.pid)),
        pid_started: started,
        boot_id: key.map(|key| key.boot),
        pane: report.pane.clone(),
        socket: report.socket.clone(),
        transcript: report.transcript.clone().or_else(|| now.transcript.clone()),
        last_heartbeat_at: Some(tx.now()),
        ..now
    };
    if !sessions::update(tx, &session)? {
        return Err(failure::internal("the session was changed within one transaction"));
    }
    if status == SessionStatus::Running {
        let event = Event::new(Kind::SessionRunning)
            .session(&session.id, &session.run_id)
            .lane(session.lane.as_ref())
            .with("pid", session.pid)
            .with("pane", session.pane.clone())
            .with("transcript", session.transcript.clone());
        tx.record(&about(&session, event))?;
        active(tx, &session)?;
    }
    if let Some(request) = &app.request {
        remember(tx, request, &said(&session, plan.remarks.clone())?)?;
    }
    Ok(session)
}

/// The checkpoint of a session that was launched for a task.
fn active(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    let Some(task) = &session.task else { return Ok(()) };
    let draft = Draft {
        task: task.clone(),
        session: Some(session.id.clone()),
        state: CheckpointState::Active,
        owner: Some(session.role.to_string()),
        summary: format!("session {} was launched", session.id),
        artifact: session.transcript.clone(),
        due_at: None,
    };
    let checkpoint = checkpoints::insert(tx, &draft)?;
    tx.record(
        &Event::new(Kind::CheckpointRecorded)
            .task(task)
            .session(&session.id, &session.run_id)
            .lane(session.lane.as_ref())
            .with("id", checkpoint.id)
            .with("state", checkpoint.state.as_str())
            .with("summary", draft.summary.as_str()),
    )?;
    Ok(())
}

/// The program ended before it was confirmed: that is the answer.
fn ended(app: &App, plan: &Plan, adapter: &Adapter) -> Result<Answer> {
    let id = &plan.session.id;
    // Its supervisor records the exit code; a script without one never will.
    let settled = wait::until(RECORDING, Duration::from_millis(50), || {
        let session = app.read(|tx| lookup::session(tx, id)).ok()?;
        session.status.is_final().then_some(session)
    });
    match settled {
        Some(session) if session.status == SessionStatus::Ended => {
            let answer = said(&session, plan.remarks.clone())?;
            if let Some(request) = &app.request {
                app.write(|tx| remember(tx, request, &answer))?;
            }
            Ok(answer)
        }
        Some(session) => {
            let reason = session.reason.unwrap_or_else(|| "it has failed".into());
            Err(failed(app, plan, adapter, AdapterError::Ended { session: id.to_string(), why: reason }))
        }
        None => {
            let why = "does not run".to_owned();
            Err(failed(app, plan, adapter, AdapterError::Ended { session: id.to_string(), why }))
        }
    }
}

/// Takes a failed launch back: what is ours is ended, the session is failed, the request may be tried again. Answers with
/// the error, and with what could not be taken back.
fn failed(app: &App, plan: &Plan, adapter: &Adapter, error: AdapterError) -> anyhow::Error {
    let (id, run) = (&plan.session.id, &plan.session.run_id);
    let mut why = error.to_string();
    // So that the supervisor leaves the reason to us when it is stopped.
    if let Err(error) = app.write(|tx| stopping(tx, id)) {
        why = format!("{why}; {error}");
    }
    if error.leaves_ours()
        && adapter.is_of_run(id.as_str(), run) != Some(false)
        && let Err(AdapterError::Failed { why: more, .. }) = adapter.stop(id.as_str())
    {
        why = format!("{why}; and it could not be stopped: {more}");
    }
    let marks = [vars::FAIRWAY_RUN_ID, vars::FAIRWAY_LAUNCH].map(|name| format!("{name}={run}"));
    let marked = || marks.iter().map(|mark| tree::marked(mark)).collect::<std::io::Result<Vec<_>>>();
    match tree::end(GRACE, || Ok(marked()?.concat())) {
        Ok(left) if left.is_empty() => {}
        Ok(left) => {
            let pids: Vec<String> = left.iter().map(|key| key.pid.to_string()).collect();
            why = format!("{why}; still there: {}", pids.join(" "));
        }
        Err(error) => why = format!("{why}; what is left cannot be told: {error}"),
    }
    let recorded = app.write(|tx| {
        let session = lookup::session(tx, id)?;
        if !session.status.is_final() {
            finish(tx, &session, SessionStatus::Failed, None, Some(&why))?;
        }
        if let Some(request) = &app.request {
            requests::forget(tx, &request.id)?;
        }
        Ok(())
    });
    match recorded {
        Ok(()) => anyhow::Error::new(error),
        Err(store) => store.context(why),
    }
}

fn stopping(tx: &WriteTx<'_>, id: &SessionId) -> Result<()> {
    let session = lookup::session(tx, id)?;
    if !session.status.is_final() {
        sessions::update(tx, &Session { activity: Activity::Stopping, ..session })?;
    }
    Ok(())
}

fn said(session: &Session, remarks: Vec<String>) -> Result<Answer> {
    let id = &session.id;
    let line = match session.status {
        SessionStatus::Ended => format!("launched {id}; its program has ended already, with exit code 0"),
        _ => format!("launched {id}; look: fairway session peek {id}; end: fairway session stop {id}"),
    };
    let mut answer = Answer::new(&SessionView::from(session), id, line)?;
    answer.remarks = remarks;
    Ok(answer)
}
