//! What a person is told about a session by its provider: that it waits for them, rests, or has failed.

use anyhow::Result;

use super::{
    event::{HookCaller, SOURCE},
    reply::{HookOutcome, Reply},
    resolve_session,
};
use crate::{
    actions::{
        App,
        boundary::{approval, guard::ToolCall, runtime},
        queue::checkpoint,
    },
    domain::{
        checkpoint::CheckpointState,
        secrets,
        session::{Activity, Session},
        text_limits::MAX_LINE_BYTES,
    },
    store::{
        WriteTx,
        checkpoints::{self, CheckpointFields},
        tasks,
    },
};

/// The longest words that are kept, in characters.
const MAX_TEXT_CHARS: usize = MAX_LINE_BYTES / 8;

/// The session waits for a person: it requires action, and its task gets a checkpoint that says so.
///
/// # Errors
/// As the store fails.
pub(super) fn waiting(app: &App, caller: &HookCaller, what: &str) -> Result<HookOutcome> {
    let words = sanitize(what);
    resolve_session::touch(app, caller, |tx, session| {
        // A hook that asked for permission has said what for; the notice only knows that there is something.
        let known = session.waiting_for.clone().filter(|_| session.activity == Activity::RequiresAction);
        let waiting_for = known.unwrap_or_else(|| words.clone());
        runtime::report_activity(tx, session, Activity::RequiresAction, Some(&waiting_for), SOURCE)?;
        add_checkpoint(tx, session, &waiting_for)
    })?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// The same, when the provider asks a person about a tool and takes no answer from here.
///
/// # Errors
/// As the store fails.
pub(super) fn waiting_for_tool(app: &App, caller: &HookCaller, call: &ToolCall, what: &str) -> Result<HookOutcome> {
    if let Some(session) = resolve_session::touch(app, caller, |_, _| Ok(()))? {
        let acting = resolve_session::app_as(app, &session);
        approval::request(&acting, &session, caller.provider.as_str(), &call.tool, &call.input, false)?;
    }
    waiting(app, caller, what)
}

/// The session has nothing to do.
///
/// # Errors
/// As the store fails.
pub(super) fn idle(app: &App, caller: &HookCaller) -> Result<HookOutcome> {
    resolve_session::touch(app, caller, |tx, session| {
        if !caller.is_subagent {
            runtime::report_activity(tx, session, Activity::Idle, None, SOURCE)?;
        }
        Ok(())
    })?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// The turn broke off: the session does nothing, and its task gets a checkpoint that says why.
///
/// # Errors
/// As the store fails.
pub(super) fn failed(app: &App, caller: &HookCaller, why: &str) -> Result<HookOutcome> {
    let words = sanitize(&format!("the turn broke off: {why}"));
    resolve_session::touch(app, caller, |tx, session| {
        if caller.is_subagent {
            return Ok(());
        }
        approval::expire_pending(tx, session, None)?;
        runtime::report_activity(tx, session, Activity::Idle, None, SOURCE)?;
        add_checkpoint(tx, session, &words)
    })?;
    Ok(HookOutcome::of(Reply::Nothing))
}

/// Words of a program, as they may be kept: one line, masked, not too long.
fn sanitize(words: &str) -> String {
    let line: String = words.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let line: String = secrets::mask(line.trim()).chars().take(MAX_TEXT_CHARS).collect();
    if line.is_empty() { "a person is needed".to_owned() } else { line }
}

/// Leaves a checkpoint on the session's task, if it has an open one that is nobody else's, and it does not say so already.
fn add_checkpoint(tx: &WriteTx<'_>, session: &Session, words: &str) -> Result<()> {
    let Some(id) = &session.task else { return Ok(()) };
    let Some(task) = tasks::find(tx, id)? else { return Ok(()) };
    let is_others = task.state.claim().is_some_and(|claim| claim.claimant != session.id.as_str());
    let is_said = checkpoints::newest(tx, id)?.is_some_and(|newest| {
        newest.state == CheckpointState::AwaitingInput
            && newest.session.as_ref() == Some(&session.id)
            && newest.summary == words
    });
    if task.state.status().is_closed() || is_others || is_said {
        return Ok(());
    }
    let draft = CheckpointFields {
        task: id.clone(),
        session: Some(session.id.clone()),
        state: CheckpointState::AwaitingInput,
        owner: None,
        summary: words.to_owned(),
        artifact: None,
        due_at: None,
    };
    checkpoint::insert(tx, &task, &draft, Some(session))?;
    Ok(())
}
