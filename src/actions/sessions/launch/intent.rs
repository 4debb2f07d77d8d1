//! The intent of a launch, recorded before the start, and the answer for a repeat of the request.

use anyhow::Result;

use super::{outcome::launch_answer, plan::LaunchPlan, session_id};
use crate::{
    actions::{
        Answer, App, IdempotencyKey,
        core::{errors, lookup},
        sessions::prompt,
    },
    adapters::AdapterError,
    domain::{
        Event, EventKind, Refusal, SessionId,
        session::{Session, SessionStatus},
    },
    store::{WriteTx, events, requests, sessions, tasks},
    wire::SessionView,
};

/// The line of a stored answer until the launch is complete.
const INTENT_LINE: &str = "intended";

/// The answer of an earlier launch with the same `--request-id`; `None` when there was none.
///
/// # Errors
/// `request_reused`; `launch_failed` when it failed or was interrupted.
pub fn previous_result(app: &App) -> Result<Option<Answer>> {
    app.stored_response()?.map(|answer| resolve_previous(app, answer)).transpose()
}

pub(crate) fn resolve_previous(app: &App, answer: Answer) -> Result<Answer> {
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
            launch_answer(&session, None, Vec::new())
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

/// Records the session as starting, with the request's intent. `Some` is the stored answer of the same request.
pub(crate) fn record_intent(app: &App, tx: &WriteTx<'_>, plan: &LaunchPlan) -> Result<Option<Answer>> {
    if let Some(request) = &app.idempotency_key
        && let Some(earlier) = request.stored_response(tx)?
    {
        return Ok(Some(earlier));
    }
    if let Some(acting) = &app.actor.session {
        lookup::session(tx, acting)?;
        sessions::touch(tx, acting)?;
        tasks::renew_leases(tx, &app.actor.name, None)?;
    }
    let session = &plan.session;
    let earlier = sessions::find(tx, &session.id)?;
    if let Some(earlier) = &earlier
        && !session_id::is_failed_launch(tx, earlier)?
    {
        return Err(Refusal::AlreadyExists { noun: "session", id: session.id.to_string() }.into());
    }
    // The plan read them in an earlier transaction.
    if let Some(lane) = &session.lane {
        lookup::lane(tx, lane)?;
    }
    if let Some(task) = &session.task {
        lookup::task(tx, task)?;
    }
    match earlier {
        // A launch that failed: its events stay, its row becomes this session's.
        Some(earlier) => {
            if !sessions::update(tx, &Session { version: earlier.version, ..session.clone() })? {
                return Err(errors::internal("the session was changed within one transaction"));
            }
        }
        None => sessions::insert(tx, session)?,
    }
    if let Some(text) = &plan.first_prompt {
        prompt::queue_first(app, tx, &session.id, text)?;
    }
    let event = Event::new(EventKind::SessionStarting)
        .session(&session.id, &session.run_id)
        .lane(session.lane.as_ref())
        .with("role", session.role.as_str())
        .with("provider", session.provider.as_ref().map(ToString::to_string))
        .with("backend", session.backend.clone());
    tx.record(&with_task(session, event))?;
    if let Some(request) = &app.idempotency_key {
        store_response(tx, request, &Answer::new(&SessionView::from(session), &session.id, INTENT_LINE)?)?;
    }
    Ok(None)
}

pub(crate) fn store_response(tx: &WriteTx<'_>, request: &IdempotencyKey, answer: &Answer) -> Result<()> {
    let text = serde_json::to_string(answer).map_err(errors::internal)?;
    Ok(requests::upsert(tx, &request.id, &request.fingerprint, Some(&text))?)
}

/// The event with the session's task, if it has one.
pub(crate) fn with_task(session: &Session, event: Event) -> Event {
    match &session.task {
        Some(task) => event.task(task),
        None => event,
    }
}
