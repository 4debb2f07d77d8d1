//! Notifications of a provider about a session: it waits for a person, is idle, or its turn failed.

use anyhow::Result;
use serde_json::Value;

use super::event::{HookCaller, HookOutcome, Reply};
use super::resolve_session;
use crate::App;
use crate::agents::approval;
use crate::agents::guard::ToolCall;
use crate::core::{session_events, usage_limit};
use crate::queue::checkpoint;
use fairway_core::domain::checkpoint::{CheckpointOrigin, CheckpointState};
use fairway_core::domain::parking::ParkingCause;
use fairway_core::domain::rules::session_machine::SessionEvent;
use fairway_core::domain::secrets;
use fairway_core::domain::session::{Activity, Session};
use fairway_core::domain::text_limits::MAX_LINE_BYTES;
use fairway_core::store::checkpoints::{self, CheckpointFields};
use fairway_core::store::{WriteTx, tasks};

/// Maximum length of a provider's text, in characters.
const MAX_TEXT_CHARS: usize = MAX_LINE_BYTES / 8;

/// Sets the session to `requires_action` and records a checkpoint on its task.
pub(super) fn waiting(app: &App, caller: &HookCaller, text: &str) -> Result<HookOutcome> {
    let text = sanitize(text);
    resolve_session::touch(app, caller, |tx, session| {
        // A permission request before has a more exact text than this notification.
        let known = session.waiting_for.clone().filter(|_| session.activity == Activity::RequiresAction);
        let waiting_for = known.unwrap_or_else(|| text.clone());
        session_events::reported(tx, session, Activity::RequiresAction, Some(&waiting_for), caller.source())?;
        add_checkpoint(tx, session, &waiting_for)
    })?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// Like [`waiting`], and records an approval that cannot be answered here: the provider asks the person itself.
pub(super) fn waiting_for_tool(app: &App, caller: &HookCaller, call: &ToolCall, text: &str) -> Result<HookOutcome> {
    if let Some(session) = resolve_session::touch(app, caller, |_, _| Ok(()))? {
        let acting = resolve_session::app_as(app, &session);
        approval::request(
            &acting,
            &session,
            caller.provider.as_str(),
            &call.tool,
            &call.input,
            approval::Waits::Elsewhere,
        )?;
    }
    waiting(app, caller, text)
}

pub(super) fn idle(app: &App, caller: &HookCaller) -> Result<HookOutcome> {
    resolve_session::touch(app, caller, |tx, session| {
        if !caller.is_subagent {
            session_events::reported(tx, session, Activity::Idle, None, caller.source())?;
        }
        Ok(())
    })?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// Sets the session to idle. Parks it when its provider's usage limit is the reason, else records a checkpoint with the reason on
/// its task. Does nothing for a subagent.
pub(super) fn failed(app: &App, caller: &HookCaller, why: &str, error: Option<&Value>) -> Result<HookOutcome> {
    let text = sanitize(&format!("the turn failed: {why}"));
    // The transcript is read outside of a transaction.
    let transcript = caller.transcript.as_deref().filter(|_| !caller.is_subagent);
    let limit = match error {
        Some(error) => usage_limit::of_error(app, &caller.provider, error),
        None => usage_limit::after_failure(app, &caller.provider, transcript),
    };
    resolve_session::touch(app, caller, |tx, session| {
        if caller.is_subagent {
            return Ok(());
        }
        approval::expire_pending(tx, session, None)?;
        let idle = session_events::reported(tx, session, Activity::Idle, None, caller.source())?;
        match limit {
            Some(until) => {
                let why = ParkingCause::usage_limit(&caller.provider);
                session_events::apply(tx, &idle, &SessionEvent::Parked { until, why: &why }).map(drop)
            }
            None => add_checkpoint(tx, session, &text),
        }
    })?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// A provider's text for storage: one line, secrets masked, length limited.
fn sanitize(text: &str) -> String {
    let line: String = text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    let line: String = secrets::mask(line.trim()).chars().take(MAX_TEXT_CHARS).collect();
    if line.is_empty() { "waiting for a person".to_owned() } else { line }
}

/// Records a checkpoint on the session's task, unless the task is closed, claimed by another claimant, or has this checkpoint
/// already.
fn add_checkpoint(tx: &WriteTx<'_>, session: &Session, summary: &str) -> Result<()> {
    let Some(id) = &session.task else { return Ok(()) };
    let Some(task) = tasks::find(tx, id)? else { return Ok(()) };
    let is_others = task.state.claim().is_some_and(|claim| claim.claimant != session.id.as_str());
    let is_recorded = checkpoints::newest(tx, id)?.is_some_and(|newest| {
        newest.state == CheckpointState::AwaitingInput
            && newest.session.as_ref() == Some(&session.id)
            && newest.summary == summary
    });
    if task.state.status().is_closed() || is_others || is_recorded {
        return Ok(());
    }
    let draft = CheckpointFields {
        task: id.clone(),
        session: Some(session.id.clone()),
        state: CheckpointState::AwaitingInput,
        owner: None,
        summary: summary.to_owned(),
        artifact: None,
        due_at: None,
        origin: Some(CheckpointOrigin::Hook),
    };
    checkpoint::insert(tx, &task, &draft, Some(session))?;
    Ok(())
}
