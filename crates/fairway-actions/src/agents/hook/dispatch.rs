//! Handles hook events.

use anyhow::Result;

use super::event::{HookCaller, HookEvent, HookOutcome, Reply, TranscriptReader};
use super::{provider_notification, resolve_session, session_start, tool, turn};
use crate::App;
use crate::agents::approval::ApprovalWait;
use crate::sessions::prompt::confirm_delivered;

/// Handles a hook event. `wait` is the time limit for the answer to a permission request.
///
/// # Errors
/// Store errors; `not_found`, `session_mismatch` and similar if the session cannot be resolved. For [`HookEvent::BeforeTool`]
/// the caller must deny the tool on any error.
pub fn handle(
    app: &App,
    caller: &HookCaller,
    event: &HookEvent,
    read_transcript: TranscriptReader<'_>,
    wait: ApprovalWait,
) -> Result<HookOutcome> {
    match event {
        HookEvent::SessionStart(start) => session_start::handle(app, caller, *start),
        HookEvent::TurnStart => turn::start(app, caller),
        HookEvent::BeforeTool(call) => tool::before(app, caller, call).map(HookOutcome::of),
        HookEvent::AfterTool(ended) => tool::after(app, caller, ended),
        HookEvent::PermissionRequest(call) => tool::answer_request(app, caller, call, wait).map(HookOutcome::of),
        HookEvent::TurnEnd(said) => turn::end(app, caller, said.as_deref(), true, read_transcript),
        HookEvent::TurnCancelled => turn::end(app, caller, None, false, read_transcript),
        HookEvent::Interrupted => turn::interrupted(app, caller, read_transcript),
        HookEvent::TurnFailed { why, error } => provider_notification::failed(app, caller, why, error.as_ref()),
        HookEvent::Waiting(text) => provider_notification::waiting(app, caller, text),
        HookEvent::WaitingForTool(call, text) => provider_notification::waiting_for_tool(app, caller, call, text),
        HookEvent::Idle => provider_notification::idle(app, caller),
        HookEvent::SubagentEnd(path) => turn::subagent_end(app, caller, path.as_deref(), read_transcript),
        HookEvent::SessionEnd { reason, continues } => {
            turn::session_end(app, caller, reason, *continues, read_transcript)
        }
        HookEvent::Other => resolve_session::touch(app, caller, |_, _| Ok(())).map(|_| HookOutcome::of(Reply::Nothing)),
    }
}

/// Records that the prompts in a reply were delivered, after the reply was written completely.
///
/// # Errors
/// Store errors; the prompts are then delivered again.
pub fn confirm_written(app: &App, outcome: &HookOutcome) -> Result<()> {
    match &outcome.delivered {
        Some((session, batch)) => confirm_delivered(app, session, batch),
        None => Ok(()),
    }
}
