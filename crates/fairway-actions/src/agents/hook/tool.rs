//! Tool calls: decides before a call, records after it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::event::{HookCaller, HookOutcome, Reply, ToolEnd};
use super::{resolve_session, turn};
use crate::App;
use crate::agents::approval::{self, ApprovalWait};
use crate::agents::guard::{self, EntryPoint, GuardDecision, ToolCall};
use crate::core::session_events;
use crate::land::overlap;
use crate::sessions::report::{own_program, telemetry};
use fairway_core::config::OverlapAction;
use fairway_core::domain::message::Channel;
use fairway_core::domain::session::{Activity, SCREEN_SOURCE, Session};
use fairway_core::domain::usage::Turn;
use fairway_core::guard::{OWN_VERB_REASON, may_write};
use fairway_core::store::{approvals, session_reports};

/// Decides on a tool call by the guard rules. Without rules the provider decides. Denies every call of an ended session.
///
/// # Errors
/// Store errors; the caller must deny the tool.
pub(super) fn before(app: &App, caller: &HookCaller, call: &ToolCall) -> Result<Reply> {
    let found = resolve_session::find_or_create(app, caller, None, |tx, session| {
        // A session that calls a tool is busy, even without an event for the turn's start.
        if !caller.is_subagent && matches!(session.activity, Activity::Idle | Activity::Unknown) {
            session_events::reported(tx, session, Activity::Busy, None, caller.source())?;
        }
        Ok(session_reports::count_call(tx, &session.id, true)?)
    })?;
    let session = match found {
        Ok(session) => session,
        Err(ended) => return Ok(Reply::Deny(ended_message(&ended))),
    };
    let app = resolve_session::app_as(app, &session);
    Ok(match guard::authorize_if_configured(&app, &session, call, EntryPoint::Hook) {
        None => reply_without_rules(call),
        Some(decision) => {
            if !decision.allowed {
                // No event follows a denied call. The denial stands, whether or not this is recorded.
                let _ = app.transaction(|tx| Ok(session_reports::count_call(tx, &session.id, false)?));
            }
            reply_for(decision)
        }
    })
}

/// The reply in a project without guard rules: the provider decides, but an agent's own commands of Fairway are allowed.
pub fn reply_without_rules(call: &ToolCall) -> Reply {
    if call.runs_own_program { Reply::Allow(OWN_VERB_REASON.to_owned()) } else { Reply::Nothing }
}

pub fn reply_for(decision: GuardDecision) -> Reply {
    match decision {
        GuardDecision { allowed: false, reason, rule, .. } => Reply::Deny(denial_message(rule.as_deref(), &reason)),
        GuardDecision { explicitly_allowed: true, reason, .. } => Reply::Allow(reason),
        // Allowed by default: the provider decides as it would without Fairway.
        GuardDecision { .. } => Reply::Nothing,
    }
}

pub fn denial_message(rule: Option<&str>, reason: &str) -> String {
    match rule {
        Some(rule) if !reason.contains(rule) => format!("{rule}: {reason}"),
        _ => reason.to_owned(),
    }
}

pub(super) fn ended_message(session: &Session) -> String {
    format!("session {} has {}; launch a new session", session.id, session.status)
}

/// Records a tool call, and delivers urgent prompts. An agent whose shell does not find `fairway` gets the path that works.
pub(super) fn after(app: &App, caller: &HookCaller, ended: &ToolEnd) -> Result<HookOutcome> {
    let ToolEnd { used, files, finds_program } = ended;
    let session = resolve_session::touch(app, caller, |tx, session| {
        let turn = Turn { key: None, at: tx.now(), usage: None, tools: vec![used.clone()] };
        telemetry::store_turns(tx, session, &[turn])?;
        // The supervisor of a structured session knows each question by its call.
        if !session.is_structured() {
            approval::expire_pending(tx, session, Some(&used.name))?;
        }
        session_reports::count_call(tx, &session.id, false)?;
        own_program::record(tx, &session.id, *finds_program)?;
        // A person has allowed the tool, here or in the provider's interface; or the screen was misread.
        let is_misread =
            session.activity == Activity::Idle && session.activity_source.as_deref() == Some(SCREEN_SOURCE);
        let is_waiting = session.activity == Activity::RequiresAction || is_misread;
        if is_waiting && !caller.is_subagent && approvals::pending_of(tx, &session.id)?.is_empty() {
            session_events::reported(tx, session, Activity::Busy, None, caller.source())?;
        }
        Ok(())
    })?;
    if let Some(session) = &session
        && may_write(&used.name)
    {
        look_for_overlap(app, session, files);
    }
    let Some(session) = session.filter(|_| !caller.is_subagent) else { return Ok(HookOutcome::of(Reply::Nothing)) };
    let outcome = turn::deliver(app, caller, session, Channel::Tool, Reply::Context)?;
    let Some(way_out) = own_program::way_out().filter(|_| *finds_program == Some(false)) else { return Ok(outcome) };
    let reply = match outcome.reply {
        Reply::Context(text) => Reply::Context(format!("{way_out}\n\n{text}")),
        _ => Reply::Context(way_out),
    };
    Ok(HookOutcome { reply, ..outcome })
}

/// Time limit for the overlap check after a tool call. The rest is checked after the next call.
const OVERLAP_LIMIT: Duration = Duration::from_millis(500);

/// Checks the session's lane for overlap with the others, by `files`, or by its whole worktree when that is empty. The tool has
/// run already, so a failure does not fail the hook.
fn look_for_overlap(app: &App, session: &Session, files: &[PathBuf]) {
    let Some(name) = session.lane.as_ref().filter(|_| app.settings.overlap.action == OverlapAction::Tell) else {
        return;
    };
    let app = resolve_session::app_as(app, session);
    let _ = overlap::refresh(&app, overlap::Scope::Lane { name, files }, OVERLAP_LIMIT);
}

/// Answers a permission request: by the rules, else by a person who answers in time. Otherwise the reply is empty, and the
/// provider asks the person itself.
pub(super) fn answer_request(app: &App, caller: &HookCaller, call: &ToolCall, wait: ApprovalWait) -> Result<Reply> {
    let session = match resolve_session::find_or_create(app, caller, None, |_, _| Ok(()))? {
        Ok(session) => session,
        Err(ended) => return Ok(Reply::Deny(ended_message(&ended))),
    };
    let app = resolve_session::app_as(app, &session);
    let reply = guard::authorize_permission(&app, &session, call, EntryPoint::Hook)
        .map_or_else(|| reply_without_rules(call), reply_for);
    // Beside a supervisor the agent asks by the protocol as well: a person is asked once.
    if reply != Reply::Nothing || caller.is_beside_supervisor(&session) {
        return Ok(reply);
    }
    let hook = approval::Waits::Hook;
    let (id, _awaited) = approval::request(&app, &session, caller.provider.as_str(), &call.tool, &call.input, hook)?;
    Ok(match approval::wait_for_person(&app, &session, id, wait)? {
        None => Reply::Nothing,
        Some(answer) if answer.allow => Reply::Allow(answer.reason.unwrap_or_else(|| "allowed by a person".into())),
        Some(answer) => Reply::Deny(answer.reason.unwrap_or_else(|| "denied by a person".into())),
    })
}
