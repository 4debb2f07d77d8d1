//! Codex's events and answers. Any field that it does not know voids a whole answer of ours.

use serde_json::Value;

use super::{Provider, claude, payload::Payload};
use crate::actions::boundary::hook::{HookEvent, Reply};

/// The moment that a payload tells of.
///
/// # Errors
/// A sentence that names what is missing.
pub(super) fn parse(event: &str, told: &Payload, role: Option<&str>) -> Result<HookEvent, String> {
    Ok(match event {
        "SessionStart" => HookEvent::SessionStart(claude::start_kind(told)),
        "UserPromptSubmit" => HookEvent::TurnStart,
        "PreToolUse" => HookEvent::BeforeTool(told.tool_call(Provider::Codex, role)?),
        "PermissionRequest" => HookEvent::PermissionRequest(told.tool_call(Provider::Codex, role)?),
        // A call that failed tells nothing.
        "PostToolUse" => claude::tool_finished(told, true)?,
        "Stop" => HookEvent::TurnEnd,
        "SubagentStop" => HookEvent::SubagentEnd(told.agent_transcript_path.clone()),
        "SessionEnd" => {
            HookEvent::SessionEnd { reason: told.reason.clone().unwrap_or_else(|| "other".into()), continues: false }
        }
        _ => HookEvent::Other,
    })
}

/// The answer in the vendor's form; `None` where there is nothing to say. It is not known to heed a permission before a
/// tool.
pub(super) fn reply(event: &str, reply: &Reply) -> Option<Value> {
    claude::shared_reply(event, reply)
}
