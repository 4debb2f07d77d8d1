//! Decides on a tool call, by the rules of this project or of one around it, and records the decision. Reads the log of
//! decisions.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::call::{EntryPoint, GuardDecision, ToolCall};
use super::decide::{LoadedRules, decide, decide_with_rules, error_message, while_paused, with_short_timeout};
use crate::App;
use fairway_core::config::{CONFIG_FILE, Project};
use fairway_core::domain::session::Session;
use fairway_core::domain::{Event, EventKind, RunId, SessionId, secrets};
use fairway_core::env::Timestamp;
use fairway_core::os::user;
use fairway_core::store::guard_decisions::{self, LoggedDecision};
use fairway_core::store::{WriteTx, sessions};
use fairway_core::wire::{LoggedDecisionView, tool_input};

const MAX_LOGGED_INPUT_BYTES: usize = 2_048;
/// The longest time between the decision before a tool call and its permission request.
const SAME_CALL_WINDOW: Duration = Duration::from_secs(30);
const MAX_REASON_CHARS: usize = 500;

/// Decides on a tool call by the guard rules and records the decision. A call whose decision cannot be recorded is denied.
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

/// Like [`authorize`], but returns `None` if no rules are configured, here or in a project around this one: the caller then asks
/// a person.
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

/// Like [`authorize_if_configured`], for the permission request that a provider makes after the hook before the tool call.
/// When the decision on that call was just recorded, the same decision is not recorded again.
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
        if let Some(denied) = while_paused(app, session) {
            return Some(denied);
        }
        return decide_by_enclosing(app, session, call);
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

/// Decides by the rules of the nearest project around this one that has some; `None` if there is no such project.
fn decide_by_enclosing(app: &App, session: &Session, call: &ToolCall) -> Option<GuardDecision> {
    let mut inner = (*app.project).clone();
    loop {
        let root: PathBuf = inner.enclosing()?.to_path_buf();
        let outer = Project::at(root.clone(), &app.env);
        inner = outer.clone();
        // Only rules of this user count: another user may write files into a directory above, such as /tmp.
        if !is_own(&root) {
            continue;
        }
        let outer = match App::in_force(Rc::clone(&app.env), outer, app.actor.clone(), None) {
            Ok(outer) => outer,
            Err(error) => {
                return Some(GuardDecision::denied(format!("the rules around this project are unknown: {error}")));
            }
        };
        let rules = LoadedRules::load(&outer);
        if rules.is_unconfigured() {
            continue;
        }
        // This project's lanes mean nothing in the other project.
        let session = Session { lane: None, ..session.clone() };
        let decision = decide_with_rules(&rules, &outer, &session, call);
        let reason = format!("{} (by the rules of {})", decision.reason, root.display());
        return Some(GuardDecision { reason, ..decision });
    }
}

fn is_own(root: &Path) -> bool {
    fs::metadata(root.join(CONFIG_FILE)).is_ok_and(|found| found.uid() == user::uid() || found.uid() == 0)
}

/// The newest `limit` decisions, oldest first, with `denied` only denials.
pub fn log(app: &App, session: Option<&SessionId>, denied: bool, limit: i64) -> Result<Vec<LoggedDecisionView>> {
    let mut found =
        app.read(|tx| Ok(guard_decisions::newest(tx, session.map(SessionId::as_str), denied, limit.max(0))?))?;
    found.reverse();
    Ok(found.into_iter().map(view).collect())
}

fn view(decision: LoggedDecision) -> LoggedDecisionView {
    LoggedDecisionView {
        id: decision.id,
        at: LoggedDecisionView::time(decision.at),
        entry_point: decision.entry_point,
        session_id: decision.session_id,
        run_id: decision.run_id,
        role: decision.role,
        tool: decision.tool,
        input: serde_json::from_str(&decision.input).unwrap_or(Value::String(decision.input)),
        allowed: decision.allowed,
        rule: decision.rule,
        reason: secrets::mask(&decision.reason),
        context: decision.context.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
    }
}
