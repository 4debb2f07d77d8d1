//! Tools: whether one may run, and that one has run.

use anyhow::Result;

use super::{
    event::{HookCaller, SOURCE},
    reply::{HookOutcome, Reply},
    resolve_session, turn,
};
use crate::{
    actions::{
        App,
        boundary::{
            approval,
            guard::{self, EntryPoint, GuardDecision, ToolCall},
            runtime,
        },
        sessions::report::telemetry,
    },
    domain::{
        message::Channel,
        session::{Activity, Session},
        usage::{ToolUse, Turn},
    },
    store::approvals,
};

/// Decides on a tool call.
///
/// # Errors
/// As the store fails: the door must take that for a no.
pub(super) fn before(app: &App, caller: &HookCaller, call: &ToolCall) -> Result<Reply> {
    let entered = resolve_session::find_or_create(app, caller, None, |tx, session| {
        // What asks for a tool is at work, also when nobody told that a turn began.
        if !caller.is_subagent && matches!(session.activity, Activity::Idle | Activity::Unknown) {
            runtime::report_activity(tx, session, Activity::Busy, None, SOURCE)?;
        }
        Ok(())
    })?;
    let session = match entered {
        Ok(session) => session,
        Err(over) => return Ok(Reply::Deny(ended_message(&over))),
    };
    let app = resolve_session::app_as(app, &session);
    Ok(match guard::authorize_if_configured(&app, &session, call, EntryPoint::Hook) {
        None => Reply::Nothing,
        Some(verdict) => reply_for(verdict),
    })
}

/// What a verdict means to whoever asked.
pub(super) fn reply_for(verdict: GuardDecision) -> Reply {
    match verdict {
        GuardDecision { allowed: false, reason, rule, .. } => Reply::Deny(denial_message(rule.as_deref(), &reason)),
        GuardDecision { explicitly_allowed: true, reason, .. } => Reply::Allow(reason),
        // Not forbidden: the provider goes on as it would without us.
        GuardDecision { .. } => Reply::Nothing,
    }
}

/// Why a call is denied, with the rule that says so.
#[must_use]
pub fn denial_message(rule: Option<&str>, reason: &str) -> String {
    match rule {
        Some(rule) if !reason.contains(rule) => format!("{rule}: {reason}"),
        _ => reason.to_owned(),
    }
}

/// Why nothing may run in a session that has ended.
pub(super) fn ended_message(session: &Session) -> String {
    format!("the session {} has {}; a new launch is a new session", session.id, session.status)
}

/// A tool has run: noted, and what is urgent is told now.
///
/// # Errors
/// As the store fails.
pub(super) fn after(app: &App, caller: &HookCaller, used: &ToolUse) -> Result<HookOutcome> {
    let session = resolve_session::touch(app, caller, |tx, session| {
        let turn = Turn { key: None, at: tx.now(), usage: None, tools: vec![used.clone()] };
        telemetry::store_turns(tx, session, &[turn])?;
        approval::expire_pending(tx, session, Some(&used.name))?;
        // A person has let it go on, here or there.
        let waits = session.activity == Activity::RequiresAction;
        if waits && !caller.is_subagent && approvals::pending_of(tx, &session.id)?.is_empty() {
            runtime::report_activity(tx, session, Activity::Busy, None, SOURCE)?;
        }
        Ok(())
    })?;
    let Some(session) = session.filter(|_| !caller.is_subagent) else { return Ok(HookOutcome::of(Reply::Nothing)) };
    turn::deliver(app, caller, session, Channel::Tool, Reply::Context)
}
