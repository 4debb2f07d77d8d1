//! A runtime's own life, as it reports it. Reports may come late, twice and in any order.

use anyhow::Result;
use serde_json::Value;

use super::{normalize_run_id, report_activity, unknown_run};
use crate::{
    actions::{
        Answer, App,
        core::lookup,
        sessions::{
            control::stop,
            finish,
            report::upsert::{self, LocalHost, SessionPatch},
        },
    },
    domain::{
        LaneName, Refusal, Role, SessionId, TaskId,
        id::Label,
        lifecycle::{LifecycleEvent, event_time},
        secrets,
        session::{Activity, Session, SessionStatus},
        text_limits,
    },
    env::Timestamp,
    os::process::ProcessKey,
    store::{ReadTx, WriteTx, session_reports, sessions},
    wire::LifecycleView,
};

/// Where activities come from that a runtime reports.
pub const SOURCE: &str = "lifecycle";

/// What a runtime reports.
#[derive(Debug, Clone, PartialEq)]
pub struct LifecycleReport {
    /// What happened.
    pub event: LifecycleEvent,
    /// The run that it happened to.
    pub run_id: String,
    /// The session, where the runtime knows it; that of a new one.
    pub session_id: Option<SessionId>,
    /// When; without it, now.
    pub at: Option<Timestamp>,
    /// What else is told: `role`, `lane`, `task_id`, `provider`, `external_session_id`, `pid`, `transcript`, `worktree`,
    /// `branch`, `exit_code` and `reason`. The rest is ignored.
    pub metadata: Value,
}

/// Takes in a report. A repeat is harmless, and so is one that is older than what is known, which moves nothing back.
/// `stopped` ends the session, as its exit code says. `started` of a run that nobody knows makes its session known when
/// the metadata hold a role.
///
/// # Errors
/// `not_found` for a run that nobody knows; `session_mismatch` when session and run do not belong together, or the role is
/// another; `session_final` for anything but an end of a session that has ended; `invalid_value`.
pub fn report(app: &App, report: &LifecycleReport) -> Result<Answer> {
    let particulars = Details::parse(&report.metadata)?;
    let run_id = normalize_run_id(&report.run_id);
    // Looked at before the transaction, like everything outside.
    let pid = particulars.patch.pid.and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 0);
    let local = LocalHost::read(pid.and_then(ProcessKey::of));
    app.mutate_unattributed(|tx| {
        let at = event_time(report.at, tx.now());
        match sessions::by_run_id(tx, &run_id)? {
            Some(session) => apply_to_known(app, tx, report, &particulars, &session, &local, at),
            None => create_session(app, tx, report, &particulars, &run_id, &local, at),
        }
    })
}

fn apply_to_known(
    app: &App,
    tx: &WriteTx<'_>,
    report: &LifecycleReport,
    particulars: &Details,
    session: &Session,
    local: &LocalHost,
    at: Timestamp,
) -> Result<Answer> {
    if let Some(id) = report.session_id.as_ref().filter(|id| **id != session.id) {
        let why = format!("the run {} is the session {}'s, not {id}'s", session.run_id, session.id);
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
        None => end_session(tx, session, particulars)?,
        Some(activity) if report.event == LifecycleEvent::Started => {
            let session = merge(app, tx, session, particulars, local)?;
            report_activity(tx, &session, activity, None, SOURCE)?
        }
        Some(activity) => report_activity(tx, session, activity, None, SOURCE)?,
    };
    answer(report.event, &after, true, false)
}

/// What a start tells of a session that is known already. Its role, lane and task are Fairway's to say.
fn merge(
    app: &App,
    tx: &WriteTx<'_>,
    session: &Session,
    particulars: &Details,
    local: &LocalHost,
) -> Result<Session> {
    if let Some(role) = particulars.patch.role.as_ref().filter(|role| **role != session.role) {
        let why = format!("the session {} is of the role {}, not of {role}", session.id, session.role);
        return Err(Refusal::SessionMismatch { why }.into());
    }
    let told = SessionPatch { role: None, lane: None, task: None, ..particulars.patch.clone() };
    let after = upsert::apply_patch(app, &told, session, local, tx.now());
    let fields = upsert::changed_fields(session, &after);
    if fields.is_empty() {
        return Ok(session.clone());
    }
    upsert::check_external_id_unused(tx, &after)?;
    crate::actions::core::keepalive::update_session(tx, &after)?;
    upsert::record_changes(tx, &after, &fields)?;
    lookup::session(tx, &session.id)
}

/// Ends a session as its runtime says: without an exit code nothing says that it failed, nor has one that was told to stop.
fn end_session(tx: &WriteTx<'_>, session: &Session, particulars: &Details) -> Result<Session> {
    let was_told = session.activity == Activity::Stopping && session.activity_source.as_deref() == Some(stop::SOURCE);
    let (status, reason) = match particulars.exit_code {
        None | Some(0) => (SessionStatus::Ended, "reported stopped".to_owned()),
        Some(_) if was_told => (SessionStatus::Ended, "stopped".to_owned()),
        Some(code) => (SessionStatus::Failed, format!("its program ended with exit code {code}")),
    };
    let reason = particulars.reason.as_ref().map_or(reason.clone(), |words| format!("{reason}: {words}"));
    finish(tx, session, status, particulars.exit_code, Some(&reason))
}

/// Makes the session of a run known that nobody knows.
fn create_session(
    app: &App,
    tx: &WriteTx<'_>,
    report: &LifecycleReport,
    particulars: &Details,
    run_id: &str,
    local: &LocalHost,
    at: Timestamp,
) -> Result<Answer> {
    if let Some(other) = report.session_id.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten() {
        other.check_run_id(Some(run_id))?;
    }
    if report.event != LifecycleEvent::Started || particulars.patch.role.is_none() {
        return Err(unknown_run(run_id));
    }
    if uuid::Uuid::parse_str(run_id).map_or(true, |run| run.is_nil()) {
        return Err(Refusal::invalid("run_id", "of a new session must be a UUID").into());
    }
    check_references(tx, &particulars.patch)?;
    let told = SessionPatch {
        run_id: Some(run_id.to_owned()),
        started_at: Some(at.min(tx.now())),
        ..particulars.patch.clone()
    };
    let session = upsert::new_session(app, tx, &told, report.session_id.as_ref(), false, local, tx.now())?;
    upsert::insert(tx, &session)?;
    session_reports::set_lifecycle_at(tx, &session.id, at)?;
    answer(report.event, &session, true, true)
}

fn check_references(tx: &ReadTx<'_>, told: &SessionPatch) -> Result<()> {
    upsert::validate(told)?;
    upsert::check_references(tx, told)
}

fn answer(event: LifecycleEvent, session: &Session, applied: bool, created: bool) -> Result<Answer> {
    let view = LifecycleView {
        session_id: session.id.to_string(),
        run_id: session.run_id.clone(),
        event: event.as_str(),
        applied,
        created,
        status: session.status.as_str(),
        activity: session.activity.as_str(),
        ended_at: session.ended_at.map(|at| at.to_string()),
        exit_code: session.exit_code,
    };
    let stands = match session.activity {
        Activity::Unknown => session.status.to_string(),
        activity => format!("{}, {activity}", session.status),
    };
    let known = if applied { "" } else { " (nothing new)" };
    Answer::new(&view, &session.id, format!("{} is {stands}{known}", session.id))
}

/// What the metadata of a report hold.
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
        let word = |what: &'static str, key: &str| match members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Refusal::invalid(what, "must be a text")),
        };
        let number = |what: &'static str, key: &str| match members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| Refusal::invalid(what, "must be a whole number")),
        };
        let role = word("metadata.role", "role")?.map(|text| Role::parse(&text)).transpose()?;
        let lane = word("metadata.lane", "lane")?.map(|text| LaneName::parse(&text)).transpose()?;
        let task = word("metadata.task_id", "task_id")?.map(|text| TaskId::parse(&text)).transpose()?;
        let provider = word("metadata.provider", "provider")?.map(|text| Label::parse(&text)).transpose()?;
        let reason = word("metadata.reason", "reason")?
            .map(|text| text_limits::check_line("metadata.reason", &text))
            .transpose()?;
        let told = SessionPatch {
            role,
            lane,
            task,
            provider,
            external_session_id: word("metadata.external_session_id", "external_session_id")?,
            pid: number("metadata.pid", "pid")?,
            transcript: word("metadata.transcript", "transcript")?,
            worktree: word("metadata.worktree", "worktree")?,
            branch: word("metadata.branch", "branch")?,
            ..SessionPatch::default()
        };
        upsert::validate(&told)?;
        Ok(Self {
            patch: told,
            exit_code: number("metadata.exit_code", "exit_code")?,
            reason: reason.as_deref().map(secrets::mask),
        })
    }
}
