//! Gemini CLI's events and answers.

use serde_json::{Value, json};

use super::{Provider, payload::Payload};
use crate::{
    actions::boundary::{
        guard::ToolCall,
        hook::{Moment, Reply, Start},
    },
    domain::usage::ToolUse,
};

/// The moment that a payload tells of.
///
/// # Errors
/// A sentence that names what is missing.
pub(super) fn moment(event: &str, told: &Payload, role: Option<&str>) -> Result<Moment, String> {
    Ok(match event {
        "SessionStart" => Moment::SessionStart(match told.source.as_deref() {
            Some("resume") => Start::Resumed,
            Some("clear") => Start::Switched,
            _ => Start::Fresh,
        }),
        "BeforeAgent" => Moment::TurnStart,
        "BeforeTool" => Moment::BeforeTool(told.call(Provider::Gemini, role)?),
        "AfterTool" => {
            let name = Payload::need("tool_name", told.tool_name.as_ref())?.to_owned();
            let failed = told.tool_response.as_ref().and_then(|response| response.get("error"));
            let success = Some(failed.is_none_or(Value::is_null));
            Moment::AfterTool(ToolUse { key: told.tool_use_id.clone(), name, success, duration_ms: None })
        }
        "AfterAgent" => Moment::TurnEnd,
        "Notification" => match told.notification_type.as_deref() {
            Some("ToolPermission") => {
                Moment::WaitsForTool(asked(told.details.as_ref(), role), told.message.clone().unwrap_or_default())
            }
            _ => Moment::Other,
        },
        "SessionEnd" => {
            let reason = told.reason.clone().unwrap_or_else(|| "other".into());
            let goes_on = reason == "clear";
            Moment::SessionEnd { reason, goes_on }
        }
        _ => Moment::Other,
    })
}

/// The tool that a person is asked about, as far as the notice tells.
fn asked(details: Option<&Value>, role: Option<&str>) -> ToolCall {
    let word = |name: &str| details.and_then(|details| details.get(name)?.as_str());
    let tool = word("tool_name").or_else(|| word("toolName")).or_else(|| word("type")).unwrap_or("tool").to_owned();
    ToolCall {
        also: Provider::Gemini.also(&tool),
        tool,
        input: details.cloned().unwrap_or_default(),
        cwd: None,
        role: role.map(str::to_owned),
    }
}

/// The answer in the vendor's form; `None` where there is nothing to say.
pub(super) fn answer(event: &str, reply: &Reply) -> Option<Value> {
    match (event, reply) {
        ("BeforeTool", Reply::Deny(reason)) => Some(json!({ "decision": "deny", "reason": reason })),
        ("BeforeTool", Reply::Allow(_)) => Some(json!({ "decision": "allow" })),
        ("AfterAgent", Reply::GoOn(text)) => Some(json!({ "decision": "deny", "reason": text })),
        ("SessionStart" | "BeforeAgent" | "AfterTool", Reply::Context(text)) => {
            Some(json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }))
        }
        _ => None,
    }
}
