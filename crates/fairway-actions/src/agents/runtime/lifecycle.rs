//! Lifecycle reports of runtimes. They may arrive late, repeatedly and in any order.

use anyhow::Result;
use serde_json::Value;

use crate::core::{lookup, session_events};
use crate::sessions::budget;
use crate::sessions::report::upsert::{self, LocalHost, SessionPatch};
use crate::{Answer, App};
use fairway_core::domain::id::Label;
use fairway_core::domain::lifecycle::{LifecycleEvent, event_time};
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::session::{Activity, Session, SessionStatus};
use fairway_core::domain::{LaneName, Refusal, Role, RunId, SessionId, TaskId, secrets, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::os::process::ProcessKey;
use fairway_core::store::{WriteTx, session_reports, sessions};
use fairway_core::wire::LifecycleView;
use fairway_core::wire::integer::whole_number;

/// The source of activity reported by lifecycle events.
pub const SOURCE: &str = "lifecycle";

#[derive(Debug, Clone, PartialEq)]
pub struct LifecycleReport {
    pub event: LifecycleEvent,
    pub run_id: RunId,
    /// The session's id, if the runtime knows it; a session that is registered by the report gets this id.
    pub session_id: Option<SessionId>,
    /// The time of the event; by default now.
    pub at: Option<Timestamp>,
    /// Further values: `role`, `lane`, `task_id`, `provider`, `external_session_id`, `pid`, `transcript`, `worktree`,
    /// `branch`, `exit_code` and `reason`. Other keys are ignored.
    pub metadata: Value,
}

/// Applies a report. Repeated and outdated reports change nothing. `stopped` ends the session; its exit code decides about
/// the final status. `started` with an unknown `run_id` registers a session if the metadata contain a role.
///
/// # Errors
/// `not_found` for an unknown `run_id`; `session_mismatch` if it belongs to another session, or the role differs;
/// `session_final` for an event other than `stopped` of an ended session; `invalid_value`.
pub fn report(app: &App, report: &LifecycleReport) -> Result<Answer> {
    let details = Details::parse(&report.metadata)?;
    // Read before the transaction, which must be short.
    let pid = details.patch.pid.and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 0);
    let local = LocalHost::read(pid.and_then(ProcessKey::of));
    app.mutate_unattributed(|tx| {
        let at = event_time(report.at, tx.now());
        match sessions::by_run_id(tx, &report.run_id)? {
            Some(session) => apply_to_known(app, tx, report, &details, &session, &local, at),
            None => create_session(app, tx, report, &details, &local, at),
        }
    })
}

fn apply_to_known(
    app: &App,
    tx: &WriteTx<'_>,
    report: &LifecycleReport,
    details: &Details,
    session: &Session,
    local: &LocalHost,
    at: Timestamp,
) -> Result<Answer> {
    if let Some(id) = report.session_id.as_ref().filter(|id| **id != session.id) {
        let why = format!("run {} belongs to session {}, not to {id}", session.run_id, session.id);
        return Err(Refusal::SessionMismatch { why }.into());
    }
    if session.status.is_final() {
        if report.event != LifecycleEvent::Stopped {
            session.check_open()?;
        }
        return answer(report.event, session, false, false);
    }
    let newest = session_reports::find(tx, &session.id)?.lifecycle_at;
    if !report.event.is_newer(at, newest) {
        return answer(report.event, session, false, false);
    }
    session_reports::set_lifecycle_at(tx, &session.id, newest.map_or(at, |newest| newest.max(at)))?;
    let after = match report.event.activity() {
        None => end_session(tx, session, details)?,
        Some(activity) if report.event == LifecycleEvent::Started => {
            let session = merge(app, tx, session, details, local)?;
            session_events::reported(tx, &session, activity, None, SOURCE)?
        }
        Some(activity) => session_events::reported(tx, session, activity, None, SOURCE)?,
    };
    budget::settle(app, tx, &session.id)?;
    answer(report.event, &after, true, false)
}

/// Applies the values of a `started` event to a registered session. Role, lane and task are set in Fairway only.
fn merge(app: &App, tx: &WriteTx<'_>, session: &Session, details: &Details, local: &LocalHost) -> Result<Session> {
    if let Some(role) = details.patch.role.as_ref().filter(|role| **role != session.role) {
        let why = format!("session {} has the role {}, not {role}", session.id, session.role);
        return Err(Refusal::SessionMismatch { why }.into());
    }
    let patch = SessionPatch { role: None, lane: None, task: None, ..details.patch.clone() };
    let after = upsert::apply_patch(app, &patch, session, local);
    upsert::check_external_id_unused(tx, &after)?;
    session_events::apply(tx, session, &SessionEvent::Described { facts: &after })
}

/// Ends a session. A nonzero exit code makes it `failed`.
fn end_session(tx: &WriteTx<'_>, session: &Session, details: &Details) -> Result<Session> {
    let (status, reason) = match details.exit_code {
        None | Some(0) => (SessionStatus::Ended, "reported stopped".to_owned()),
        Some(code) => (SessionStatus::Failed, format!("its program ended with exit code {code}")),
    };
    let reason = details.reason.as_ref().map_or(reason.clone(), |text| format!("{reason}: {text}"));
    session_events::end(tx, session, status, details.exit_code, Some(&reason))
}

/// Registers the session of an unknown `run_id`.
fn create_session(
    app: &App,
    tx: &WriteTx<'_>,
    report: &LifecycleReport,
    details: &Details,
    local: &LocalHost,
    at: Timestamp,
) -> Result<Answer> {
    if let Some(other) = report.session_id.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten() {
        other.check_run_id(Some(&report.run_id))?;
    }
    if report.event != LifecycleEvent::Started || details.patch.role.is_none() {
        return Err(Refusal::RunUnregistered { run: lookup::shown_run(&report.run_id) }.into());
    }
    if !report.run_id.is_usable() {
        return Err(Refusal::invalid("run_id", "of a new session must be a UUID").into());
    }
    upsert::check_references(tx, &details.patch)?;
    let patch = SessionPatch {
        run_id: Some(report.run_id.clone()),
        started_at: Some(at.min(tx.now())),
        ..details.patch.clone()
    };
    let session = upsert::new_session(app, tx, &patch, report.session_id.as_ref(), false, local, tx.now())?;
    session_events::register(tx, &session)?;
    session_reports::set_lifecycle_at(tx, &session.id, at)?;
    answer(report.event, &session, true, true)
}

fn answer(event: LifecycleEvent, session: &Session, applied: bool, created: bool) -> Result<Answer> {
    let view = LifecycleView {
        session_id: session.id.to_string(),
        run_id: session.run_id.to_string(),
        event,
        applied,
        created,
        status: session.status,
        activity: session.activity,
        ended_at: session.ended_at.map(|at| at.to_string()),
        exit_code: session.exit_code,
    };
    let state = match session.activity {
        Activity::Unknown => session.status.to_string(),
        activity => format!("{}, {activity}", session.status),
    };
    let suffix = if applied { "" } else { " (unchanged)" };
    Answer::new(&view, &session.id, format!("{} is {state}{suffix}", session.id))
}

#[derive(Debug, Clone, Default)]
struct Details {
    patch: SessionPatch,
    exit_code: Option<i64>,
    reason: Option<String>,
}

impl Details {
    fn parse(metadata: &Value) -> Result<Self, Refusal> {
        let members = match metadata {
            Value::Null => return Ok(Self::default()),
            Value::Object(members) => members,
            _ => return Err(Refusal::invalid("metadata", "must be an object")),
        };
        let text = |what: &'static str, key: &str| match members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Refusal::invalid(what, "must be a string")),
        };
        let number = |what: &'static str, key: &str| match members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => whole_number(value).map(Some).ok_or_else(|| Refusal::invalid(what, "must be an integer")),
        };
        let role = text("metadata.role", "role")?.map(|text| Role::parse(&text)).transpose()?;
        let lane = text("metadata.lane", "lane")?.map(|text| LaneName::parse(&text)).transpose()?;
        let task = text("metadata.task_id", "task_id")?.map(|text| TaskId::parse(&text)).transpose()?;
        let provider = text("metadata.provider", "provider")?.map(|text| Label::parse(&text)).transpose()?;
        let reason = text("metadata.reason", "reason")?
            .map(|text| text_limits::check_line("metadata.reason", &text))
            .transpose()?;
        let patch = SessionPatch {
            role,
            lane,
            task,
            provider,
            external_session_id: text("metadata.external_session_id", "external_session_id")?,
            pid: number("metadata.pid", "pid")?,
            transcript: text("metadata.transcript", "transcript")?,
            worktree: text("metadata.worktree", "worktree")?,
            branch: text("metadata.branch", "branch")?,
            ..SessionPatch::default()
        };
        upsert::validate(&patch)?;
        Ok(Self {
            patch,
            exit_code: number("metadata.exit_code", "exit_code")?,
            reason: reason.as_deref().map(secrets::mask),
        })
    }
}
