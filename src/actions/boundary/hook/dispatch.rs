//! Handles hook events.

use std::time::Duration;

use anyhow::Result;

use super::{
    event::{HookCaller, HookEvent},
    permission, provider_notification,
    reply::{HookOutcome, Reply},
    resolve_session, session_start, tool,
    transcript::TranscriptReader,
    turn,
};
use crate::actions::{App, sessions::prompt::confirm_delivered};

/// Takes in a moment. `wait` is how long an answer to a permission request is waited for.
///
/// # Errors
/// As the store fails; `not_found`, `session_mismatch` and the like when the session cannot be told. A door must take any
/// of them for a no when a tool is about to run.
pub fn handle(
    app: &App,
    caller: &HookCaller,
    moment: &HookEvent,
    records: TranscriptReader<'_>,
    wait: Duration,
) -> Result<HookOutcome> {
    match moment {
        HookEvent::SessionStart(start) => session_start::handle(app, caller, *start),
        HookEvent::TurnStart => turn::start(app, caller),
        HookEvent::BeforeTool(call) => tool::before(app, caller, call).map(HookOutcome::of),
        HookEvent::AfterTool(used) => tool::after(app, caller, used),
        HookEvent::PermissionRequest(call) => permission::answer_request(app, caller, call, wait).map(HookOutcome::of),
        HookEvent::TurnEnd => turn::end(app, caller, records),
        HookEvent::TurnFailed(why) => provider_notification::failed(app, caller, why),
        HookEvent::Waiting(what) => provider_notification::waiting(app, caller, what),
        HookEvent::WaitingForTool(call, what) => provider_notification::waiting_for_tool(app, caller, call, what),
        HookEvent::Idle => provider_notification::idle(app, caller),
        HookEvent::SubagentEnd(record) => turn::subagent_end(app, caller, record.as_deref(), records),
        HookEvent::SessionEnd { reason, continues: goes_on } => {
            turn::session_end(app, caller, reason, *goes_on, records)
        }
        HookEvent::Other => resolve_session::touch(app, caller, |_, _| Ok(())).map(|_| HookOutcome::of(Reply::Nothing)),
    }
}

/// Notes that an answer was written out whole.
///
/// # Errors
/// As the store fails: what was carried then comes again.
pub fn confirm_written(app: &App, outcome: &HookOutcome) -> Result<()> {
    match &outcome.delivered {
        Some((session, carried)) => confirm_delivered(app, session, carried),
        None => Ok(()),
    }
}
