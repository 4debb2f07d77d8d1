//! Gemini CLI's events and replies.

use serde_json::{Map, Value, json};

use super::{Provider, payload::Payload};
use crate::{
    actions::boundary::{
        guard::ToolCall,
        hook::{HookEvent, Reply, StartKind, ToolEnd},
    },
    domain::usage::ToolUse,
};

/// The hook event of a payload.
///
/// # Errors
/// The name of a missing field, in a sentence.
pub(super) fn parse(event: &str, payload: &Payload, role: Option<&str>) -> Result<HookEvent, String> {
    Ok(match event {
        "SessionStart" => HookEvent::SessionStart(match payload.source.as_deref() {
            Some("resume") => StartKind::Resumed,
            Some("clear") => StartKind::Switched,
            _ => StartKind::Fresh,
        }),
        "BeforeAgent" => HookEvent::TurnStart,
        "BeforeTool" => HookEvent::BeforeTool(payload.tool_call(Provider::Gemini, role)?),
        "AfterTool" => {
            let name = Payload::require("tool_name", payload.tool_name.as_ref())?.to_owned();
            let failed = payload.tool_response.as_ref().and_then(|response| response.get("error"));
            let success = Some(failed.is_none_or(Value::is_null));
            let used = ToolUse { key: payload.tool_use_id.clone(), name, success, duration_ms: None };
            let (files, finds_program) = (payload.written_files(), payload.finds_program());
            HookEvent::AfterTool(ToolEnd { used, files, finds_program })
        }
        "AfterAgent" => HookEvent::TurnEnd,
        "Notification" => match payload.notification_type.as_deref() {
            Some("ToolPermission") => HookEvent::WaitingForTool(
                parse_permission(payload.details.as_ref(), role),
                payload.message.clone().unwrap_or_default(),
            ),
            _ => HookEvent::Other,
        },
        "SessionEnd" => {
            let reason = payload.reason.clone().unwrap_or_else(|| "other".into());
            let continues = reason == "clear";
            HookEvent::SessionEnd { reason, continues }
        }
        _ => HookEvent::Other,
    })
}

/// The tool call of a permission notification, as far as its details name it.
fn parse_permission(details: Option<&Value>, role: Option<&str>) -> ToolCall {
    let field = |name: &str| details.and_then(|details| details.get(name)?.as_str());
    let tool = field("tool_name").or_else(|| field("toolName")).or_else(|| field("type")).unwrap_or("tool").to_owned();
    ToolCall {
        aliases: Provider::Gemini.aliases(&tool),
        tool,
        input: details.cloned().unwrap_or_default(),
        cwd: None,
        role: role.map(str::to_owned),
        runs_own_program: false,
        context: Map::new(),
    }
}

/// The reply in Gemini CLI's form; `None` for no output.
pub(super) fn reply(event: &str, reply: &Reply) -> Option<Value> {
    match (event, reply) {
        ("BeforeTool", Reply::Deny(reason)) => Some(json!({ "decision": "deny", "reason": reason })),
        ("BeforeTool", Reply::Allow(_)) => Some(json!({ "decision": "allow" })),
        ("AfterAgent", Reply::Continue(text)) => Some(json!({ "decision": "deny", "reason": text })),
        ("SessionStart" | "BeforeAgent" | "AfterTool", Reply::Context(text)) => {
            Some(json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }))
        }
        _ => None,
    }
}
