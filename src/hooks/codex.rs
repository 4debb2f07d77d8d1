//! Codex's events and replies. Codex rejects a whole reply for one unknown field.

use serde_json::Value;

use super::{Provider, claude, payload::Payload};
use crate::actions::boundary::hook::{HookEvent, Reply};

/// The hook event of a payload.
///
/// # Errors
/// The name of a missing field, in a sentence.
pub(super) fn parse(event: &str, payload: &Payload, role: Option<&str>) -> Result<HookEvent, String> {
    Ok(match event {
        "SessionStart" => HookEvent::SessionStart(claude::start_kind(payload)),
        "UserPromptSubmit" => HookEvent::TurnStart,
        "PreToolUse" => HookEvent::BeforeTool(payload.tool_call(Provider::Codex, role)?),
        "PermissionRequest" => HookEvent::PermissionRequest(payload.tool_call(Provider::Codex, role)?),
        // Codex sends no event for a failed call.
        "PostToolUse" => claude::tool_finished(payload, true)?,
        "Stop" => HookEvent::TurnEnd,
        "Interrupt" => HookEvent::Interrupted,
        "SubagentStop" => HookEvent::SubagentEnd(payload.agent_transcript_path.clone()),
        "SessionEnd" => {
            HookEvent::SessionEnd { reason: payload.reason.clone().unwrap_or_else(|| "other".into()), continues: false }
        }
        _ => HookEvent::Other,
    })
}

/// The reply in Codex's form; `None` for no output. An `allow` before a tool is not sent: Codex is not known to honour it.
pub(super) fn reply(event: &str, reply: &Reply) -> Option<Value> {
    claude::shared_reply(event, reply)
}
