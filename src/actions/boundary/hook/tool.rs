//! Tools: whether one may run, and that one has run.

use anyhow::Result;

use super::{Caller, Outcome, Reply, SOURCE, resolve_session, turn};
use crate::{
    actions::{
        App,
        boundary::{
            approval,
            guard::{self, Door, ToolCall, Verdict},
            runtime,
        },
        sessions::report::telemetry,
    },
    domain::{
        message::Way,
        session::{Activity, Session},
        usage::{ToolUse, Turn},
    },
    store::approvals,
};

/// Decides on a tool call.
///
/// # Errors
/// As the store fails: the door must take that for a no.
pub(super) fn before(app: &App, caller: &Caller, call: &ToolCall) -> Result<Reply> {
    let entered = resolve_session::enter(app, caller, None, |tx, session| {
        // What asks for a tool is at work, also when nobody told that a turn began.
        if !caller.is_subagent && matches!(session.activity, Activity::Idle | Activity::Unknown) {
            runtime::doing(tx, session, Activity::Busy, None, SOURCE)?;
        }
        Ok(())
    })?;
    let session = match entered {
        Ok(session) => session,
        Err(over) => return Ok(Reply::Deny(ended(&over))),
    };
    let app = resolve_session::acting(app, &session);
    Ok(match guard::opinion(&app, &session, call, Door::Hook) {
        None => Reply::Nothing,
        Some(verdict) => reply(verdict),
    })
}

/// What a verdict means to whoever asked.
pub(super) fn reply(verdict: Verdict) -> Reply {
    match verdict {
        Verdict { allowed: false, reason, rule, .. } => Reply::Deny(denial(rule.as_deref(), &reason)),
        Verdict { granted: true, reason, .. } => Reply::Allow(reason),
        // Not forbidden: the provider goes on as it would without us.
        Verdict { .. } => Reply::Nothing,
    }
}

/// Why a call is denied, with the rule that says so.
#[must_use]
pub fn denial(rule: Option<&str>, reason: &str) -> String {
    match rule {
        Some(rule) if !reason.contains(rule) => format!("{rule}: {reason}"),
        _ => reason.to_owned(),
    }
}

/// Why nothing may run in a session that has ended.
pub(super) fn ended(session: &Session) -> String {
    format!("the session {} has {}; a new launch is a new session", session.id, session.status)
}

/// A tool has run: noted, and what is urgent is told now.
///
/// # Errors
/// As the store fails.
pub(super) fn after(app: &App, caller: &Caller, used: &ToolUse) -> Result<Outcome> {
    let session = resolve_session::touch(app, caller, |tx, session| {
        let turn = Turn { key: None, at: tx.now(), usage: None, tools: vec![used.clone()] };
        telemetry::write(tx, session, &[turn])?;
        approval::over(tx, session, Some(&used.name))?;
        // A person has let it go on, here or there.
        let waits = session.activity == Activity::RequiresAction;
        if waits && !caller.is_subagent && approvals::pending_of(tx, &session.id)?.is_empty() {
            runtime::doing(tx, session, Activity::Busy, None, SOURCE)?;
        }
        Ok(())
    })?;
    let Some(session) = session.filter(|_| !caller.is_subagent) else { return Ok(Outcome::of(Reply::Nothing)) };
    turn::carry(app, caller, session, Way::Tool, Reply::Context)
}
