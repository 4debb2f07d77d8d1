//! Decides on a tool call and records the decision.

use anyhow::Result;

use super::{
    call::{EntryPoint, GuardDecision, ToolCall},
    decide::{decide, decide_with_rules},
    rules::LoadedRules,
    short_timeout::{error_message, with_short_timeout},
};
use crate::{
    actions::App,
    domain::{Event, EventKind, secrets, session::Session},
    store::{
        WriteTx,
        guard_decisions::{self, LoggedDecision},
        sessions,
    },
    wire::tool_input,
};

/// The longest input that is kept, in bytes.
const MAX_LOGGED_INPUT_BYTES: usize = 2_048;
/// The longest reason that is kept, in characters.
const MAX_REASON_CHARS: usize = 500;

/// Decides on a call and records it; one that cannot be recorded is denied.
#[must_use]
pub fn authorize(app: &App, session: &Session, call: &ToolCall, door: EntryPoint) -> GuardDecision {
    let verdict = decide(app, session, call);
    record_or_deny(app, door, Some(session), call, verdict)
}

/// The same by the session's run; an unknown run is denied.
#[must_use]
pub fn authorize_run(app: &App, run_id: &str, call: &ToolCall, door: EntryPoint) -> GuardDecision {
    match with_short_timeout(app, || app.read(|tx| Ok(sessions::by_run_id(tx, run_id)?))) {
        Ok(Some(session)) => authorize(app, &session, call, door),
        Ok(None) => {
            let shown: String = run_id.chars().take(64).collect();
            record_or_deny(
                app,
                door,
                None,
                call,
                GuardDecision::denied(format!("there is no run '{}'", shown.escape_debug())),
            )
        }
        Err(error) => GuardDecision::denied(format!("whose call this is cannot be told: {}", error_message(&error))),
    }
}

/// The same for a door whose caller asks a person otherwise: `None` when nothing is said about tool calls here.
#[must_use]
pub fn authorize_if_configured(
    app: &App,
    session: &Session,
    call: &ToolCall,
    door: EntryPoint,
) -> Option<GuardDecision> {
    let prepared = LoadedRules::load(app);
    if prepared.is_unconfigured() {
        return None;
    }
    let verdict = decide_with_rules(&prepared, app, session, call);
    Some(record_or_deny(app, door, Some(session), call, verdict))
}

/// Records a decision, and a denial as an event too, in somebody's transaction.
///
/// # Errors
/// As the store fails.
pub fn record(
    tx: &WriteTx<'_>,
    door: EntryPoint,
    session: Option<&Session>,
    call: &ToolCall,
    verdict: &GuardDecision,
) -> Result<()> {
    let tool: String = call.tool.chars().take(128).collect();
    let reason: String = secrets::mask(&verdict.reason).chars().take(MAX_REASON_CHARS).collect();
    let decision = LoggedDecision {
        id: 0,
        at: tx.now(),
        entry_point: door.as_str().to_owned(),
        session_id: session.map(|session| session.id.to_string()),
        run_id: session.map(|session| session.run_id.clone()),
        role: session.map(|session| session.role.to_string()),
        tool: tool.clone(),
        input: tool_input::for_log(&call.input, MAX_LOGGED_INPUT_BYTES),
        allowed: verdict.allowed,
        rule: verdict.rule.clone(),
        reason: reason.clone(),
    };
    let id = guard_decisions::insert(tx, &decision)?;
    if !verdict.allowed {
        let event = Event::new(EventKind::GuardDenied)
            .with("id", id)
            .with("door", door.as_str())
            .with("tool", tool)
            .with("rule", verdict.rule.clone())
            .with("reason", reason);
        let event = match session {
            Some(session) => event.session(&session.id, &session.run_id),
            None => event,
        };
        tx.record(&event)?;
    }
    Ok(())
}

/// The verdict once it is recorded; a no when it cannot be.
fn record_or_deny(
    app: &App,
    door: EntryPoint,
    session: Option<&Session>,
    call: &ToolCall,
    verdict: GuardDecision,
) -> GuardDecision {
    match with_short_timeout(app, || app.transaction(|tx| record(tx, door, session, call, &verdict))) {
        Ok(()) => verdict,
        Err(error) if verdict.allowed => {
            GuardDecision::denied(format!("the decision cannot be recorded: {}", error_message(&error)))
        }
        Err(_) => verdict,
    }
}
