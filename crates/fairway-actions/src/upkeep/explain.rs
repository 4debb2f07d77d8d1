//! Explains the state of a task or session: facts, each with its source and age. Changes nothing.

use anyhow::Result;

use crate::App;
use crate::core::session_process::{self, RunProcesses};
use crate::core::{lookup, other_host, session_overview};
use crate::queue::lane::work::{self, WorkPlace};
use crate::queue::task::claim;
use crate::queue::task::timeline::transition_detail;
use crate::queue::{claimants, landed_here};
use crate::sessions::control::suggestions;
use crate::sessions::liveness::backend_probe::BackendProber;
use crate::sessions::liveness::facts;
use crate::sessions::report::turn_end;
use fairway_core::domain::rules::staleness::{BackendObservation, Liveness, ProcessObservation};
use fairway_core::domain::session::{Activity, Session, SessionStatus};
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::domain::task::Task;
use fairway_core::domain::{EventKind, Refusal, SessionId, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::os::host;
use fairway_core::store::events::{self, LoggedEvent};
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::store::{ReadTx, checkpoints, claims, overview, session_reports, sessions};
use fairway_core::wire::ExplainView;

/// The maximum number of former claimants in an explanation.
const MAX_FORMER_CLAIMANTS: usize = 10;

/// The words of the command, which a refusal shows for another host.
const EXPLAIN: &[&str] = &["explain"];

/// Explains a task's status, why it is not ready, and its claims.
///
/// # Errors
/// `not_found`.
pub fn task(app: &App, id: &TaskId) -> Result<ExplainView> {
    let now = app.env.now();
    let read = app.read_together(|tx| task_in(app, tx, id, now))?;
    Ok(located(app, read, now))
}

/// The facts that are read of a task, and where it is worked on; `None` for a place on another host.
type TaskRead = (ExplainView, Option<WorkPlace>);

/// Adds where the work of a task is, when that is not the branch of its lane. Git is asked outside of a transaction.
fn located(app: &App, (mut view, place): TaskRead, now: Timestamp) -> ExplainView {
    // Without an answer of git the rest is as true.
    let work = place.and_then(|place| work::of_place(app, &place, EXPLAIN).ok().flatten());
    let work = work.filter(|work| work.worktree.is_some());
    if let Some(clause) = work.and_then(|work| work.state().clause()) {
        view.fact("work", format!("its lane {clause}"), "git", Some(now));
    }
    view
}

/// Like [`task`], inside a read transaction.
fn task_in(app: &App, tx: &ReadTx<'_>, id: &TaskId, now: Timestamp) -> Result<TaskRead> {
    let task = lookup::task(tx, id)?;
    let mut view = ExplainView::new("task", id, task.state.status().as_str(), now);
    match events::newest_transition(tx, id)? {
        Some(event) => view.fact("status", describe_transition(&event), source(&event), Some(event.at)),
        None => view.fact("status", "added, no transition yet", "task", Some(task.created_at)),
    }
    claimants(tx, &task, now, &mut view)?;
    blockers(app, tx, &task, &mut view)?;
    if let Some(newest) = checkpoints::newest_written(tx, id)? {
        let by = checkpoints::author(tx, &newest)?.map(|author| format!(" (by {author})")).unwrap_or_default();
        let message = format!("{}: {}{by}", newest.state, newest.summary);
        view.fact("checkpoint", message, format!("checkpoint {}", newest.id), Some(newest.created_at));
    }
    match work::place_of_task(app, tx, &task, EXPLAIN) {
        Err(error) if error.is::<Refusal>() => Ok((view, None)),
        place => Ok((view, Some(place?))),
    }
}

fn source(event: &LoggedEvent) -> String {
    format!("event {}", event.seq)
}

fn describe_transition(event: &LoggedEvent) -> String {
    let verb = event.kind.trim_start_matches("task.");
    format!("{verb} by {}{}", event.actor, transition_detail(&event.data))
}

fn claimants(tx: &ReadTx<'_>, task: &Task, now: Timestamp, view: &mut ExplainView) -> Result<()> {
    if let Some(claim) = task.state.claim() {
        let from = format!("claim {}", claim.epoch);
        let role = claim.role.as_ref().map(|role| format!(" as {role}")).unwrap_or_default();
        let message = format!("claimed by {}{role}, epoch {}", claim.claimant, claim.epoch);
        view.fact("held", message, &from, Some(claim.claimed_at));
        match claim.lease_end(now) {
            Some(until) if claim.is_expired(now) => {
                let message = format!("lease expired at {until}; another claim may take the task over");
                view.fact("lease_expired", message, &from, Some(until));
            }
            Some(until) => view.fact("lease", format!("lease until {until}"), &from, None),
            None => {}
        }
        if let Some(session) = claim.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten() {
            let why = session.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let message = format!("the claimant's session is {}{why}", session.status);
            view.fact("holder", message, format!("session {}", session.id), Some(session.last_seen()));
            let alive = session_process::aliveness(&session);
            let is_final = session.status.is_final();
            if !is_final && !alive.is_dead() && session.activity == Activity::RequiresAction {
                let waiting_for = session.waiting_for.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
                let message = format!("the claimant's session waits for a person{waiting_for}");
                view.fact("waiting_for", message, format!("session {}", session.id), session.activity_at);
            }
            if alive.is_dead() && !is_final {
                let source = format!("{} of {}", alive.source, session.id);
                view.fact("dead", format!("the claimant's session is dead: {}", alive.reason), source, Some(now));
            }
            let (status, mut processes) = (task.state.status(), RunProcesses::default());
            for way in claimants::ways_on(tx, &task.id, status, &session, &alive, &mut processes)? {
                view.fact("next", format!("{}: {}", way.purpose, way.command), "rules", None);
            }
        }
    }
    for past_claim in claims::history(tx, &task.id)?
        .into_iter()
        .filter(|past_claim| past_claim.ended.is_some())
        .take(MAX_FORMER_CLAIMANTS)
    {
        if let Some((until, how)) = past_claim.ended {
            let message =
                format!("was claimed by {}, epoch {}, until {until}: {how}", past_claim.claimant, past_claim.epoch);
            view.fact("was_held", message, format!("claim {}", past_claim.epoch), Some(past_claim.claimed_at));
        }
    }
    Ok(())
}

fn blockers(app: &App, tx: &ReadTx<'_>, task: &Task, view: &mut ExplainView) -> Result<()> {
    let waiting = landed_here::not_ready_reasons_now(app, tx, task)?;
    for reason in &waiting {
        let since = tasks::find(tx, &reason.id)?.map(|on| on.updated_at);
        view.fact(reason.code, &reason.message, format!("task {}", reason.id), since);
    }
    if task.is_ready() && waiting.is_empty() {
        match claim::blocking_rule(app, tx, task)? {
            Some(refusal) => view.fact(refusal.code(), refusal.to_string(), "rules", None),
            None => view.fact("ready", "no rule prevents a claim", "rules", None),
        }
    }
    Ok(())
}

/// Explains a session's status, and what reconcile would do with it.
///
/// # Errors
/// `not_found`.
pub fn session(app: &App, id: &SessionId) -> Result<ExplainView> {
    let now = app.env.now();
    let read = app.read_together(|tx| session_in(app, tx, id, now))?;
    Ok(probed(app, read, now))
}

/// Adds what the process and the backend of a session report. They are probed outside of a transaction.
fn probed(app: &App, (session, mut view): (Session, ExplainView), now: Timestamp) -> ExplainView {
    if !session.status.is_final() {
        probes(app, &session, now, &mut view);
    }
    view
}

/// Like [`session`], inside a read transaction and without probes of its process and backend.
fn session_in(app: &App, tx: &ReadTx<'_>, id: &SessionId, now: Timestamp) -> Result<(Session, ExplainView)> {
    let session = lookup::session(tx, id)?;
    let mut view = ExplainView::new("session", id, session.status.as_str(), now);
    let why = session.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let status = format!("{}{why}", session.status);
    match events::newest_of_session(tx, id, EventKind::is_status)? {
        Some(event) => view.fact("status", status, source(&event), Some(event.at)),
        None => view.fact("status", status, "session", Some(session.started_at)),
    }
    if let Some(code) = session.exit_code {
        view.fact("exit_code", format!("its program ended with exit code {code}"), "session", session.ended_at);
    }
    view.fact("last_sign", "last heartbeat", "session", Some(session.last_seen()));
    if session.activity != Activity::Unknown {
        let waiting_for = session.waiting_for.as_ref().map(|text| format!(", waiting for: {text}")).unwrap_or_default();
        let is_over = session.status != SessionStatus::Running || session_process::aliveness(&session).is_dead();
        let last = if is_over { " (last report)" } else { "" };
        let from = session.activity_source.clone().unwrap_or_else(|| "session".into());
        view.fact("activity", format!("{}{waiting_for}{last}", session.activity), from, session.activity_at);
    }
    let mut judged = session_overview::with_facts(tx, vec![session.clone()], &overview::held(tx)?)?;
    turn_end::judge(app, tx, &mut judged)?;
    if let Some(ended) = judged.first().and_then(SessionOverview::ended_turn) {
        view.fact("turn_end", ended.sentence(), "rules", Some(ended.since));
    }
    reported_state(tx, &session, &mut view)?;
    session_tasks(tx, &session, &mut view)?;
    location(tx, &session, &mut view)?;
    Ok((session, view))
}

/// The last reports of the session's runtime and hooks.
fn reported_state(tx: &ReadTx<'_>, session: &Session, view: &mut ExplainView) -> Result<()> {
    let reports = session_reports::find(tx, &session.id)?;
    if let Some(at) = reports.lifecycle_at {
        view.fact("reported", "last lifecycle report of its runtime", "lifecycle", Some(at));
    }
    if let Some(at) = reports.last_hook_at {
        view.fact("hooked", "last call of a provider hook", "hooks", Some(at));
    }
    if let Some(error) = &reports.error {
        view.fact("error", format!("it reports an error: {error}"), "heartbeat", None);
    }
    if let Some(share) = session.context_usage {
        let requested = if reports.context_full_since.is_some() { ", handoff requested" } else { "" };
        view.fact(
            "context",
            format!("context {:.0} % full{requested}", share * 100.0),
            "session",
            reports.context_full_since,
        );
    }
    Ok(())
}

/// The session's backend, and commands to suggest for it. `attach` is left out when the session's process is gone.
fn location(tx: &ReadTx<'_>, session: &Session, view: &mut ExplainView) -> Result<()> {
    let other = other_host::of_session(tx, session)?;
    if let Some(host) = &other {
        view.fact("host", format!("it is on the host {}", host.name), "session", None);
    }
    if let Some(backend) = &session.backend {
        let socket = session.socket.as_ref().map(|socket| format!(", socket {socket}")).unwrap_or_default();
        let pane = session.pane.as_ref().map(|pane| format!(", pane {pane}")).unwrap_or_default();
        view.fact("place", format!("backend {backend}{socket}{pane}"), "session", None);
    }
    let is_gone = session_process::aliveness(session).is_dead();
    for (verb, command) in suggestions::commands(session) {
        if verb != "attach" || !is_gone {
            let command = other.as_ref().map_or_else(|| command.clone(), |host| host.from_here(&command));
            view.fact("next", format!("{verb}: {command}"), "session", None);
        }
    }
    Ok(())
}

fn session_tasks(tx: &ReadTx<'_>, session: &Session, view: &mut ExplainView) -> Result<()> {
    if let Some(task) = session.task.as_ref().map(|id| tasks::find(tx, id)).transpose()?.flatten() {
        let claimant = match task.state.claim() {
            Some(claim) if claim.session.as_ref() == Some(&session.id) => ", claimed by it".to_owned(),
            Some(claim) => format!(", claimed by {}", claim.claimant),
            None => String::new(),
        };
        let message = format!("task {} is {}{claimant}", task.id, task.state.status());
        view.fact("task", message, format!("task {}", task.id), Some(task.updated_at));
    }
    tasks::for_each(tx, ListScope::Claimed, |task| {
        if let Some(claim) = task.state.claim()
            && claim.session.as_ref() == Some(&session.id)
            && session.task.as_ref() != Some(&task.id)
        {
            let message = format!("it claims {}, epoch {}", task.id, claim.epoch);
            view.fact("holds", message, format!("task {}", task.id), Some(claim.claimed_at));
        }
        Ok(true)
    })?;
    Ok(())
}

fn probes(app: &App, session: &Session, now: Timestamp, view: &mut ExplainView) {
    let process = facts::process_state(session);
    let backend = BackendProber::new().probe(app, session, &process, now);
    if host::identity().owns(&session.host, session.host_id.as_deref()) {
        let message = match &process {
            ProcessObservation::NotRecorded => "no process is recorded".to_owned(),
            ProcessObservation::Alive => format!("process {} is running", session.pid.unwrap_or_default()),
            ProcessObservation::Gone(why) | ProcessObservation::Orphaned(why) => why.clone(),
            ProcessObservation::Unknown(why) => format!("unknown: {why}"),
        };
        view.fact("process", message, "the kernel", Some(now));
        let message = match &backend {
            BackendObservation::NotRecorded => None,
            BackendObservation::Alive => Some("it reports that the session is running".to_owned()),
            BackendObservation::Gone(why) => Some(why.clone()),
            BackendObservation::Unknown(why) if matches!(process, ProcessObservation::Gone(_)) => {
                Some(format!("{why}, because the process is gone"))
            }
            BackendObservation::Unknown(why) => Some(format!("unknown: {why}")),
        };
        if let Some(message) = message {
            view.fact("backend", message, "the backend", Some(now));
        }
    }
    let message = match facts::assess(app, session, &process, &backend, now) {
        Liveness::Live(why) => format!("reconcile would find it alive: {why}"),
        Liveness::Stale(_, why) => format!("reconcile would find it stale: {why}"),
        Liveness::Unknown(why) => format!("reconcile would not change it, liveness is unknown: {why}"),
        Liveness::OtherHost(why) => format!("reconcile would skip it: {why}"),
        Liveness::Unobservable => {
            "reconcile would not change it: there is nothing to probe, and its last heartbeat is recent".into()
        }
    };
    view.fact("verdict", message, "rules", Some(now));
}

/// Explains the task or the session that has this id.
///
/// # Errors
/// `ambiguous` when there are both; `not_found`; `invalid_value` for a text that is no id.
pub fn explain(app: &App, id: &str) -> Result<ExplainView> {
    let (task, session) = (TaskId::parse(id).ok(), SessionId::parse(id).ok());
    let now = app.env.now();
    let found = app.read_together(|tx| {
        let is_task = task.as_ref().map(|id| tasks::exists(tx, id)).transpose()?.unwrap_or(false);
        let is_session = session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten().is_some();
        match (&task, &session) {
            (Some(_), Some(_)) if is_task && is_session => {
                let found = vec![format!("task {id}"), format!("session {id}")];
                Err(Refusal::Ambiguous { noun: "id", id: id.to_owned(), found }.into())
            }
            (_, Some(session)) if is_session => {
                session_in(app, tx, session, now).map(|read| Found::Session(read.into()))
            }
            (Some(task), _) if is_task => task_in(app, tx, task, now).map(|read| Found::Task(read.into())),
            (Some(task), session) => Err(unknown(tx, task, session.as_ref())?),
            (None, Some(session)) => session_in(app, tx, session, now).map(|read| Found::Session(read.into())),
            (None, None) => {
                let why = format!("'{}' is not the id of a task or session", id.escape_debug());
                Err(Refusal::invalid("id", why).into())
            }
        }
    })?;
    Ok(match found {
        Found::Task(read) => located(app, *read, now),
        Found::Session(read) => probed(app, *read, now),
    })
}

enum Found {
    Task(Box<TaskRead>),
    Session(Box<(Session, ExplainView)>),
}

/// The error for an id that neither a task nor a session has, with similar ids of both.
fn unknown(tx: &ReadTx<'_>, task: &TaskId, session: Option<&SessionId>) -> Result<anyhow::Error> {
    let errors = [lookup::task(tx, task).err(), session.and_then(|id| lookup::session(tx, id).err())];
    let mut near = Vec::new();
    for error in errors.into_iter().flatten() {
        match error.downcast::<Refusal>()? {
            Refusal::NotFound { near: found, .. } => near.extend(found),
            removed => return Ok(removed.into()),
        }
    }
    Ok(Refusal::NotFound { noun: "task or session", id: task.to_string(), near }.into())
}
