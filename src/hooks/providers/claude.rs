//! Claude Code.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::hooks::CANARY;
use crate::hooks::payload::Payload;
use crate::hooks::provider::{
    EventSpec, HookOutput, HooksSwitch, Provider, ProviderSpec, WakeHook, describe_end, is_tool_event,
};
use crate::hooks::transcripts::lines::{non_empty_text, parse_if_contains, timestamp, token_count};
use fairway_actions::agents::hook::{HookEvent, Reply, StartKind, ToolEnd};
use fairway_core::domain::rules::screen_dialog::question_with_choices;
use fairway_core::domain::usage::{ToolUse, TranscriptSlice, Turn, Usage};
use fairway_core::os::exit_reason::ExitReason;

pub(super) const PROVIDER: Provider = Provider::new(&ProviderSpec {
    label: "claude",
    events: &[
        EventSpec::other("SessionStart"),
        EventSpec::other("UserPromptSubmit"),
        EventSpec::tool("PreToolUse"),
        EventSpec::other("PermissionRequest"),
        EventSpec::other("PostToolUse"),
        EventSpec::other("PostToolUseFailure"),
        EventSpec::other("Notification"),
        EventSpec::other("Stop"),
        EventSpec::other("StopFailure"),
        EventSpec::other("SubagentStop"),
        EventSpec::short("SessionEnd"),
    ],
    worktree_events: &[EventSpec::long("WorktreeCreate"), EventSpec::other("WorktreeRemove")],
    max_output_bytes: 8_000,
    import_file: Some("CLAUDE.md"),
    process_names: &["claude", "node"],
    pid_variable: Some("CLAUDE_PID"),
    project_dir_variable: Some("CLAUDE_PROJECT_DIR"),
    settings_dir: ".claude",
    settings_file: "settings.json",
    local_settings_file: Some("settings.local.json"),
    settings_dir_variable: ("CLAUDE_CONFIG_DIR", false),
    has_plugin: true,
    reviews_hooks: false,
    aliases: |tool| match tool {
        "MultiEdit" | "NotebookEdit" => &["Edit"],
        _ => &[],
    },
    parse,
    reply,
    hook_entry,
    wake_hook: Some(WakeHook { events: &["SessionStart", "Stop"], entry: wake_hook }),
    hooks_switch: Some(HooksSwitch {
        key: "disableAllHooks",
        off: true,
        names: None,
        managed_file: "/etc/claude-code/managed-settings.json",
        default_file: None,
    }),
    check_settings: |_| Ok(()),
    settings_have_comments: false,
    settings_have_byte_order_mark: true,
    manual_steps: |_| Vec::new(),
    would_block,
    entries_have_arguments: true,
    shell: |own| own.filter(|shell| ["bash", "zsh", "sh"].iter().any(|name| shell.ends_with(name))).unwrap_or("bash"),
    timeout_unit: Duration::from_secs(1),
    canary_env: |cwd| {
        vec![
            ("CLAUDECODE", PathBuf::from("1")),
            ("CLAUDE_CODE_SESSION_ID", PathBuf::from(CANARY)),
            ("CLAUDE_PROJECT_DIR", cwd.to_owned()),
        ]
    },
    canary_fields: |_| json!({ "transcript_path": "", "permission_mode": "default", "tool_use_id": CANARY }),
    parse_line: |read, _, line| parse_line(read, line),
    fill_missing_models: None,
});

/// Notifications that do not mean the agent waits for a person.
const IGNORED_NOTIFICATIONS: &[&str] =
    &["auth_success", "elicitation_complete", "elicitation_response", "agent_completed"];

/// The hook event of a payload.
///
/// # Errors
/// The name of a missing field, in a sentence.
fn parse(event: &str, payload: &Payload, role: Option<&str>) -> Result<HookEvent, String> {
    Ok(match event {
        "SessionStart" => HookEvent::SessionStart(start_kind(payload)),
        "UserPromptSubmit" => HookEvent::TurnStart,
        "PreToolUse" => HookEvent::BeforeTool(payload.tool_call(|tool| PROVIDER.neutral_names(tool), role)?),
        "PermissionRequest" if payload.tool_name.as_deref() == Some("AskUserQuestion") => {
            HookEvent::Waiting(questions_text(payload.tool_input.as_ref()))
        }
        "PermissionRequest" => {
            HookEvent::PermissionRequest(payload.tool_call(|tool| PROVIDER.neutral_names(tool), role)?)
        }
        "PostToolUse" => tool_finished(payload, true)?,
        "PostToolUseFailure" => tool_finished(payload, false)?,
        "Stop" => HookEvent::TurnEnd(payload.last_assistant_message.clone()),
        "StopFailure" => {
            let why = join_texts(&[payload.error.as_ref(), payload.error_details.as_ref()]);
            HookEvent::TurnFailed { why, error: None }
        }
        "SubagentStop" => HookEvent::SubagentEnd(payload.agent_transcript_path.clone()),
        "Notification" => match payload.notification_type.as_deref() {
            Some("idle_prompt") => HookEvent::Idle,
            Some(kind) if IGNORED_NOTIFICATIONS.contains(&kind) => HookEvent::Other,
            Some("permission_prompt" | "elicitation_dialog" | "agent_needs_input" | "worker_permission_prompt") => {
                HookEvent::Waiting(payload.message.clone().unwrap_or_default())
            }
            // An unknown notification is no reason to ask for a person.
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

/// The questions of a call that asks the person, each with its choices.
fn questions_text(input: Option<&Value>) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |question: &Value| {
        let choices: Vec<String> =
            question["options"].as_array().into_iter().flatten().map(|choice| text(&choice["label"])).collect();
        question_with_choices(&text(&question["question"]), &choices)
    };
    let all = input.and_then(|input| input["questions"].as_array()).into_iter().flatten();
    all.map(one).collect::<Vec<_>>().join("; ")
}

/// Reads how a session starts from the field `source` of the payload. Codex uses the same values.
pub(super) fn start_kind(payload: &Payload) -> StartKind {
    match payload.source.as_deref() {
        Some("resume") => StartKind::Resumed,
        Some("compact") => StartKind::Compacted,
        Some("clear" | "fork") => StartKind::Switched,
        _ => StartKind::Fresh,
    }
}

/// Makes the event for a tool that has run. `success` tells whether the tool succeeded.
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
fn reply(event: &str, reply: &Reply) -> Option<Value> {
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

/// Formats a reply, for the cases that are alike in Claude Code and Codex. Returns `None` when nothing must be printed. Codex
/// rejects a reply with any other field.
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

/// An entry of the settings. Claude Code starts it without a shell.
fn hook_entry(program: &Path, event: &str, seconds: u64) -> Value {
    let mut hook = entry(program, event, seconds);
    if is_tool_event(event)
        && let Some(fields) = hook.as_object_mut()
    {
        // A failing hook denies the call.
        fields.insert("onFailure".into(), json!("block"));
    }
    hook
}

fn entry(program: &Path, event: &str, seconds: u64) -> Value {
    json!({
        "type": "command",
        "command": program.to_string_lossy(),
        "args": ["hook", PROVIDER.label(), event],
        "timeout": seconds,
    })
}

fn wake_hook(program: &Path, seconds: u64) -> Value {
    let mut hook = entry(program, "wait", seconds);
    if let Some(fields) = hook.as_object_mut() {
        fields.insert("asyncRewake".into(), json!(true));
    }
    hook
}

fn would_block(outcome: &HookOutput, fails_closed: bool) -> Result<(), String> {
    judge(outcome).or_else(|why| if fails_closed && why.is_failure { Ok(()) } else { Err(why.text) })
}

struct NotBlocked {
    text: String,
    /// Whether the provider treats the output as a failure of the hook, not as a reply.
    is_failure: bool,
}

impl NotBlocked {
    fn failure(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_failure: true }
    }

    fn answer(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_failure: false }
    }
}

fn judge(outcome: &HookOutput) -> Result<(), NotBlocked> {
    match outcome.end {
        ExitReason::Code(2) => Ok(()),
        ExitReason::Code(0) => {
            let text = outcome.stdout.trim();
            if text.is_empty() {
                return Err(NotBlocked::answer("no output"));
            }
            if !text.starts_with('{') {
                return Err(NotBlocked::answer("stdout has text before the JSON object"));
            }
            let Ok(reply) = serde_json::from_str::<Value>(text) else {
                return Err(NotBlocked::failure("stdout is not a JSON object"));
            };
            let inner = &reply["hookSpecificOutput"];
            let decisions = [&reply["decision"], &inner["permissionDecision"]];
            let known = ["approve", "block", "allow", "deny", "ask", "defer"];
            if decisions
                .iter()
                .any(|value| !value.is_null() && !value.as_str().is_some_and(|decision| known.contains(&decision)))
            {
                return Err(NotBlocked::failure("unknown decision on stdout"));
            }
            if !inner.is_null() && inner["hookEventName"] != "PreToolUse" {
                return Err(NotBlocked::failure("the reply names another event"));
            }
            if reply["decision"] == "block" || inner["permissionDecision"] == "deny" {
                return Ok(());
            }
            Err(NotBlocked::answer("the reply is not a denial"))
        }
        end => Err(NotBlocked::failure(describe_end(end))),
    }
}

// The transcript: each block of a response has a line of its own, with the usage of the whole response.

fn parse_line(read: &mut TranscriptSlice, line: &[u8]) {
    let Some(entry) = parse_if_contains(line, "\"message\"") else { return };
    if let Some(busy) = is_busy(&entry) {
        read.is_busy = Some(busy);
    }
    if entry["type"] != "assistant" {
        return;
    }
    let (message, Some(at)) = (&entry["message"], timestamp(&entry)) else { return };
    let (usage, model) = (&message["usage"], non_empty_text(&message["model"]));
    // Text of the program itself, for example an error, comes from no model.
    if !usage.is_object() || model.as_deref() == Some("<synthetic>") {
        return;
    }
    let usage = Usage {
        model,
        input_tokens: token_count(usage, "input_tokens"),
        output_tokens: token_count(usage, "output_tokens"),
        cache_read_tokens: token_count(usage, "cache_read_input_tokens"),
        cache_creation_tokens: token_count(usage, "cache_creation_input_tokens"),
        cost_usd: None,
    };
    // A subagent has a context window of its own.
    if entry["isSidechain"] != true {
        read.context_tokens = Some(
            [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_creation_tokens]
                .into_iter()
                .fold(0, u64::saturating_add),
        );
    }
    read.add(Turn { at, key: non_empty_text(&message["id"]), usage: Some(usage), tools: Vec::new() });
}

/// Whether the agent is busy after this line; `None` when the line does not show it. Lines of a subagent or of the CLI itself do
/// not.
fn is_busy(entry: &Value) -> Option<bool> {
    if entry["isSidechain"] == true || entry["isMeta"] == true {
        return None;
    }
    let content = &entry["message"]["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default();
    match entry["type"].as_str()? {
        "user" if text.starts_with("[Request interrupted") => Some(false),
        "user" if ["<command-", "<local-command-", "<bash-"].iter().any(|prefix| text.starts_with(prefix)) => None,
        "user" => Some(true),
        "assistant" => match entry["message"]["stop_reason"].as_str()? {
            "tool_use" | "pause_turn" => Some(true),
            _ => Some(false),
        },
        _ => None,
    }
}
