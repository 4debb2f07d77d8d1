//! Decides on a tool call and records the decision.

use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::{
    call::{EntryPoint, GuardDecision, ToolCall},
    decide::{decide, decide_with_rules},
    enclosing,
    rules::LoadedRules,
    short_timeout::{error_message, with_short_timeout},
};
use crate::{
    actions::App,
    domain::{Event, EventKind, RunId, secrets, session::Session},
    env::Timestamp,
    store::{
        WriteTx,
        guard_decisions::{self, LoggedDecision},
        sessions,
    },
    wire::tool_input,
};

/// Maximum logged input.
const MAX_LOGGED_INPUT_BYTES: usize = 2_048;
/// The longest time between the decision before a tool call and its permission request.
const SAME_CALL_WINDOW: Duration = Duration::from_secs(30);
/// Maximum logged reason.
const MAX_REASON_CHARS: usize = 500;

/// Decides on a call and records the decision. If it cannot be recorded, the call is denied.
#[must_use]
pub fn authorize(app: &App, session: &Session, call: &ToolCall, entry_point: EntryPoint) -> GuardDecision {
    let guard_decision = decide(app, session, call);
    record_or_deny(app, entry_point, Some(session), call, guard_decision)
}

/// Like [`authorize`], with the session's `run_id`. An unknown id is denied.
#[must_use]
pub fn authorize_run(app: &App, run_id: &RunId, call: &ToolCall, entry_point: EntryPoint) -> GuardDecision {
    match with_short_timeout(app, || app.read(|tx| Ok(sessions::by_run_id(tx, run_id)?))) {
        Ok(Some(session)) => authorize(app, &session, call, entry_point),
        Ok(None) => {
            let id: String = run_id.as_str().chars().take(64).collect();
            record_or_deny(
                app,
                entry_point,
                None,
                call,
                GuardDecision::denied(format!("unknown run_id '{}'", id.escape_debug())),
            )
        }
        Err(error) => GuardDecision::denied(format!("cannot find the session of the call: {}", error_message(&error))),
    }
}

/// Like [`authorize`], but abstains with `None` if no rules are configured, here or in a project around this one. For callers
/// that then ask a person.
#[must_use]
pub fn authorize_if_configured(
    app: &App,
    session: &Session,
    call: &ToolCall,
    entry_point: EntryPoint,
) -> Option<GuardDecision> {
    let guard_decision = decide_if_configured(app, session, call)?;
    Some(record_or_deny(app, entry_point, Some(session), call, guard_decision))
}

/// Like [`authorize_if_configured`], for the permission request of a tool call. The same decision, recorded before the tool
/// call, is not recorded a second time.
#[must_use]
pub fn authorize_permission(
    app: &App,
    session: &Session,
    call: &ToolCall,
    entry_point: EntryPoint,
) -> Option<GuardDecision> {
    let guard_decision = decide_if_configured(app, session, call)?;
    let decision = logged_decision(app.env.now(), entry_point, Some(session), call, &guard_decision);
    let since = decision.at.minus(SAME_CALL_WINDOW);
    match with_short_timeout(app, || app.read(|tx| Ok(guard_decisions::is_recorded(tx, &decision, since)?))) {
        Ok(true) => Some(guard_decision),
        _ => Some(record_or_deny(app, entry_point, Some(session), call, guard_decision)),
    }
}

fn decide_if_configured(app: &App, session: &Session, call: &ToolCall) -> Option<GuardDecision> {
    let rules = LoadedRules::load(app);
    if rules.is_unconfigured() {
        return enclosing::decide(app, session, call);
    }
    Some(decide_with_rules(&rules, app, session, call))
}

/// Records a decision, and for a denial an event, in the caller's transaction.
pub fn record(
    tx: &WriteTx<'_>,
    entry_point: EntryPoint,
    session: Option<&Session>,
    call: &ToolCall,
    guard_decision: &GuardDecision,
) -> Result<()> {
    let decision = logged_decision(tx.now(), entry_point, session, call, guard_decision);
    let id = guard_decisions::insert(tx, &decision)?;
    if !guard_decision.allowed {
        let event = Event::new(EventKind::GuardDenied)
            .with("id", id)
            .with("door", entry_point.as_str())
            .with("tool", decision.tool)
            .with("rule", decision.rule)
            .with("reason", decision.reason);
        let event = match session {
            Some(session) => event.session(&session.id, &session.run_id),
            None => event,
        };
        tx.record(&event)?;
    }
    Ok(())
}

/// The row of a decision.
fn logged_decision(
    at: Timestamp,
    entry_point: EntryPoint,
    session: Option<&Session>,
    call: &ToolCall,
    guard_decision: &GuardDecision,
) -> LoggedDecision {
    LoggedDecision {
        id: 0,
        at,
        entry_point: entry_point.as_str().to_owned(),
        session_id: session.map(|session| session.id.to_string()),
        run_id: session.map(|session| session.run_id.to_string()),
        role: session.map(|session| session.role.to_string()),
        tool: call.tool.chars().take(128).collect(),
        input: tool_input::for_log(&call.input, MAX_LOGGED_INPUT_BYTES),
        allowed: guard_decision.allowed,
        rule: guard_decision.rule.clone(),
        reason: secrets::mask(&guard_decision.reason).chars().take(MAX_REASON_CHARS).collect(),
        context: (!call.context.is_empty()).then(|| Value::Object(call.context.clone()).to_string()),
    }
}

/// Records a decision and returns it. An allowed call that cannot be recorded is denied.
pub(super) fn record_or_deny(
    app: &App,
    entry_point: EntryPoint,
    session: Option<&Session>,
    call: &ToolCall,
    guard_decision: GuardDecision,
) -> GuardDecision {
    match with_short_timeout(app, || app.transaction(|tx| record(tx, entry_point, session, call, &guard_decision))) {
        Ok(()) => guard_decision,
        Err(error) if guard_decision.allowed => {
            GuardDecision::denied(format!("cannot record the decision: {}", error_message(&error)))
        }
        Err(_) => guard_decision,
    }
}
