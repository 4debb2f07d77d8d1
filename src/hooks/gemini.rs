//! Gemini CLI's events and answers.

use serde_json::{Value, json};

use super::{Provider, payload::Payload};
use crate::{
    actions::boundary::{
        guard::ToolCall,
        hook::{HookEvent, Reply, StartKind},
    },
    domain::usage::ToolUse,
};

/// The moment that a payload tells of.
///
/// # Errors
/// A sentence that names what is missing.
pub(super) fn parse(event: &str, told: &Payload, role: Option<&str>) -> Result<HookEvent, String> {
    Ok(match event {
        "SessionStart" => HookEvent::SessionStart(match told.source.as_deref() {
            Some("resume") => StartKind::Resumed,
            Some("clear") => StartKind::Switched,
            _ => StartKind::Fresh,
        }),
        "BeforeAgent" => HookEvent::TurnStart,
        "BeforeTool" => HookEvent::BeforeTool(told.tool_call(Provider::Gemini, role)?),
        "AfterTool" => {
            let name = Payload::require("tool_name", told.tool_name.as_ref())?.to_owned();
            let failed = told.tool_response.as_ref().and_then(|response| response.get("error"));
            let success = Some(failed.is_none_or(Value::is_null));
            HookEvent::AfterTool(ToolUse { key: told.tool_use_id.clone(), name, success, duration_ms: None })
        }
        "AfterAgent" => HookEvent::TurnEnd,
        "Notification" => match told.notification_type.as_deref() {
            Some("ToolPermission") => HookEvent::WaitingForTool(
                parse_permission(told.details.as_ref(), role),
                told.message.clone().unwrap_or_default(),
            ),
            _ => HookEvent::Other,
        },
        "SessionEnd" => {
            let reason = told.reason.clone().unwrap_or_else(|| "other".into());
            let goes_on = reason == "clear";
            HookEvent::SessionEnd { reason, continues: goes_on }
        }
        _ => HookEvent::Other,
    })
}

/// The tool that a person is asked about, as far as the notice tells.
fn parse_permission(details: Option<&Value>, role: Option<&str>) -> ToolCall {
    let word = |name: &str| details.and_then(|details| details.get(name)?.as_str());
    let tool = word("tool_name").or_else(|| word("toolName")).or_else(|| word("type")).unwrap_or("tool").to_owned();
    ToolCall {
        aliases: Provider::Gemini.aliases(&tool),
        tool,
        input: details.cloned().unwrap_or_default(),
        cwd: None,
        role: role.map(str::to_owned),
    }
}

/// The answer in the vendor's form; `None` where there is nothing to say.
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
