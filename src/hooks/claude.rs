//! Claude Code's events and answers.

use serde_json::{Value, json};

use super::{Provider, payload::Payload};
use crate::{
    actions::boundary::hook::{HookEvent, Reply, StartKind},
    domain::usage::ToolUse,
};

/// Notices that nothing is known to wait behind.
const IGNORED_NOTIFICATIONS: &[&str] =
    &["auth_success", "elicitation_complete", "elicitation_response", "agent_completed"];

/// The moment that a payload tells of.
///
/// # Errors
/// A sentence that names what is missing.
pub(super) fn parse(event: &str, told: &Payload, role: Option<&str>) -> Result<HookEvent, String> {
    Ok(match event {
        "SessionStart" => HookEvent::SessionStart(start_kind(told)),
        "UserPromptSubmit" => HookEvent::TurnStart,
        "PreToolUse" => HookEvent::BeforeTool(told.tool_call(Provider::Claude, role)?),
        "PermissionRequest" => HookEvent::PermissionRequest(told.tool_call(Provider::Claude, role)?),
        "PostToolUse" => tool_finished(told, true)?,
        "PostToolUseFailure" => tool_finished(told, false)?,
        "Stop" => HookEvent::TurnEnd,
        "StopFailure" => HookEvent::TurnFailed(join_texts(&[told.error.as_ref(), told.error_details.as_ref()])),
        "SubagentStop" => HookEvent::SubagentEnd(told.agent_transcript_path.clone()),
        "Notification" => match told.notification_type.as_deref() {
            Some("idle_prompt") => HookEvent::Idle,
            Some(harmless) if IGNORED_NOTIFICATIONS.contains(&harmless) => HookEvent::Other,
            Some("permission_prompt" | "elicitation_dialog" | "agent_needs_input" | "worker_permission_prompt") => {
                HookEvent::Waiting(told.message.clone().unwrap_or_default())
            }
            // An unknown one is no reason to call a person.
            Some(_) | None => HookEvent::Other,
        },
        "SessionEnd" => {
            let reason = told.reason.clone().unwrap_or_else(|| "other".into());
            let goes_on = matches!(reason.as_str(), "clear" | "resume");
            HookEvent::SessionEnd { reason, continues: goes_on }
        }
        _ => HookEvent::Other,
    })
}

/// How a session begins, in the words that it shares with another vendor.
pub(super) fn start_kind(told: &Payload) -> StartKind {
    match told.source.as_deref() {
        Some("resume") => StartKind::Resumed,
        Some("compact") => StartKind::Compacted,
        Some("clear" | "fork") => StartKind::Switched,
        _ => StartKind::Fresh,
    }
}

/// A tool that has run.
///
/// # Errors
/// A sentence that names what is missing.
pub(super) fn tool_finished(told: &Payload, success: bool) -> Result<HookEvent, String> {
    let name = Payload::require("tool_name", told.tool_name.as_ref())?.to_owned();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast keeps to the bounds")]
    let duration_ms = told.duration_ms.map(|span| span as u64);
    Ok(HookEvent::AfterTool(ToolUse { key: told.tool_use_id.clone(), name, success: Some(success), duration_ms }))
}

/// Texts among these values, one after another.
fn join_texts(values: &[Option<&Value>]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    values.iter().flatten().map(|value| text(value)).collect::<Vec<_>>().join(": ")
}

/// The answer in the vendor's form; `None` where there is nothing to say.
pub(super) fn reply(event: &str, reply: &Reply) -> Option<Value> {
    match (event, reply) {
        (_, Reply::Nothing) => None,
        ("PreToolUse", Reply::Allow(reason)) => Some(permission_decision("allow", reason)),
        // A block would tell its reason twice; added context makes it go on as well.
        ("Stop", Reply::Continue(text)) => {
            Some(json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }))
        }
        _ => shared_reply(event, reply),
    }
}

fn permission_decision(word: &str, reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": reason,
    } })
}

/// The answers whose form is the same with another vendor, of whom any further field would be one too many.
pub(super) fn shared_reply(event: &str, reply: &Reply) -> Option<Value> {
    let specific = |name: &str, value: Value| {
        let mut inner = serde_json::Map::new();
        inner.insert("hookEventName".into(), event.into());
        inner.insert(name.into(), value);
        json!({ "hookSpecificOutput": inner })
    };
    match (event, reply) {
        ("PreToolUse", Reply::Deny(reason)) => Some(permission_decision("deny", reason)),
        ("PermissionRequest", Reply::Deny(reason)) => {
            Some(specific("decision", json!({ "behavior": "deny", "message": reason })))
        }
        ("PermissionRequest", Reply::Allow(_)) => Some(specific("decision", json!({ "behavior": "allow" }))),
        ("Stop", Reply::Continue(text)) => Some(json!({ "decision": "block", "reason": text })),
        ("SessionStart" | "UserPromptSubmit" | "PostToolUse" | "PostToolUseFailure", Reply::Context(text)) => {
            Some(specific("additionalContext", text.as_str().into()))
        }
        _ => None,
    }
}
