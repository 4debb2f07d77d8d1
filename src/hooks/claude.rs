//! Claude Code's events and replies.

use serde_json::{Value, json};

use super::{Provider, payload::Payload};
use crate::{
    actions::boundary::hook::{HookEvent, Reply, StartKind, ToolEnd},
    domain::usage::ToolUse,
};

/// Notifications that do not mean the agent waits for a person.
const IGNORED_NOTIFICATIONS: &[&str] =
    &["auth_success", "elicitation_complete", "elicitation_response", "agent_completed"];

/// The hook event of a payload.
///
/// # Errors
/// The name of a missing field, in a sentence.
pub(super) fn parse(event: &str, payload: &Payload, role: Option<&str>) -> Result<HookEvent, String> {
    Ok(match event {
        "SessionStart" => HookEvent::SessionStart(start_kind(payload)),
        "UserPromptSubmit" => HookEvent::TurnStart,
        "PreToolUse" => HookEvent::BeforeTool(payload.tool_call(Provider::Claude, role)?),
        "PermissionRequest" => HookEvent::PermissionRequest(payload.tool_call(Provider::Claude, role)?),
        "PostToolUse" => tool_finished(payload, true)?,
        "PostToolUseFailure" => tool_finished(payload, false)?,
        "Stop" => HookEvent::TurnEnd,
        "StopFailure" => HookEvent::TurnFailed(join_texts(&[payload.error.as_ref(), payload.error_details.as_ref()])),
        "SubagentStop" => HookEvent::SubagentEnd(payload.agent_transcript_path.clone()),
        "Notification" => match payload.notification_type.as_deref() {
            Some("idle_prompt") => HookEvent::Idle,
            Some(kind) if IGNORED_NOTIFICATIONS.contains(&kind) => HookEvent::Other,
            Some("permission_prompt" | "elicitation_dialog" | "agent_needs_input" | "worker_permission_prompt") => {
                HookEvent::Waiting(payload.message.clone().unwrap_or_default())
            }
            // An unknown notification is no reason to call a person.
            Some(_) | None => HookEvent::Other,
        },
        "SessionEnd" => {
            let reason = payload.reason.clone().unwrap_or_else(|| "other".into());
            let continues = matches!(reason.as_str(), "clear" | "resume");
            HookEvent::SessionEnd { reason, continues }
        }
        _ => HookEvent::Other,
    })
}

/// How a session starts. Codex uses the same values.
pub(super) fn start_kind(payload: &Payload) -> StartKind {
    match payload.source.as_deref() {
        Some("resume") => StartKind::Resumed,
        Some("compact") => StartKind::Compacted,
        Some("clear" | "fork") => StartKind::Switched,
        _ => StartKind::Fresh,
    }
}

/// A tool that has run, with its result.
///
/// # Errors
/// The name of a missing field, in a sentence.
pub(super) fn tool_finished(payload: &Payload, success: bool) -> Result<HookEvent, String> {
    let name = Payload::require("tool_name", payload.tool_name.as_ref())?.to_owned();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast keeps to the bounds")]
    let duration_ms = payload.duration_ms.map(|span| span as u64);
    let used = ToolUse { key: payload.tool_use_id.clone(), name, success: Some(success), duration_ms };
    let (files, finds_program) = (payload.written_files(), payload.finds_program());
    Ok(HookEvent::AfterTool(ToolEnd { used, files, finds_program }))
}

/// The values as texts, joined with colons.
fn join_texts(values: &[Option<&Value>]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    values.iter().flatten().map(|value| text(value)).collect::<Vec<_>>().join(": ")
}

/// The reply in Claude Code's form; `None` for no output.
pub(super) fn reply(event: &str, reply: &Reply) -> Option<Value> {
    match (event, reply) {
        (_, Reply::Nothing) => None,
        ("PreToolUse", Reply::Allow(reason)) => Some(permission_decision("allow", reason)),
        // `decision: block` would show its reason twice. Additional context continues the turn as well.
        ("Stop", Reply::Continue(text)) => {
            Some(json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }))
        }
        _ => shared_reply(event, reply),
    }
}

fn permission_decision(decision: &str, reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason,
    } })
}

/// The replies that Claude Code and Codex share. Codex rejects a reply with any other field.
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
