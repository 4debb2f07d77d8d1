//! Gemini CLI.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hooks::CANARY;
use crate::hooks::install::shell_command;
use crate::hooks::payload::Payload;
use crate::hooks::provider::{EventSpec, HookOutput, HooksSwitch, Provider, ProviderSpec, describe_end};
use crate::hooks::transcripts::lines::{non_empty_text, parse_if_contains, timestamp, token_count};
use fairway_actions::agents::guard::ToolCall;
use fairway_actions::agents::hook::{HookEvent, Reply, StartKind, ToolEnd};
use fairway_core::domain::usage::{ToolUse, TranscriptSlice, Turn, Usage};
use fairway_core::os::exit_reason::ExitReason;

pub(super) const PROVIDER: Provider = Provider::new(&ProviderSpec {
    label: "gemini",
    events: &[
        EventSpec::other("SessionStart"),
        EventSpec::other("BeforeAgent"),
        EventSpec::tool("BeforeTool"),
        EventSpec::other("AfterTool"),
        EventSpec::other("Notification"),
        EventSpec::other("AfterAgent"),
        EventSpec::short("SessionEnd"),
    ],
    worktree_events: &[],
    max_output_bytes: 8_000,
    import_file: None,
    process_names: &["gemini", "node"],
    pid_variable: None,
    project_dir_variable: Some("GEMINI_PROJECT_DIR"),
    settings_dir: ".gemini",
    settings_file: "settings.json",
    local_settings_file: None,
    settings_dir_variable: ("GEMINI_CLI_HOME", true),
    has_plugin: false,
    reviews_hooks: false,
    aliases,
    parse,
    reply,
    hook_entry: |program, event, seconds| {
        json!({
            "name": "fairway",
            "type": "command",
            "command": shell_command(PROVIDER, program, event),
            "timeout": seconds * 1000,
        })
    },
    wake_hook: None,
    hooks_switch: Some(HooksSwitch {
        key: "hooksConfig.enabled",
        off: false,
        names: Some("hooksConfig.disabled"),
        managed_file: "/etc/gemini-cli/settings.json",
        default_file: Some("/etc/gemini-cli/system-defaults.json"),
    }),
    check_settings: |_| Ok(()),
    settings_have_comments: true,
    settings_have_byte_order_mark: false,
    manual_steps: |in_project| {
        in_project.then_some("gemini runs a project's hooks only in a trusted directory").into_iter().collect()
    },
    would_block: |outcome, _| would_block(outcome),
    entries_have_arguments: false,
    shell: |_| "bash",
    timeout_unit: Duration::from_millis(1),
    canary_env: |cwd| {
        vec![
            ("GEMINI_SESSION_ID", PathBuf::from(CANARY)),
            ("GEMINI_PROJECT_DIR", cwd.to_owned()),
            ("GEMINI_CWD", cwd.to_owned()),
            ("CLAUDE_PROJECT_DIR", cwd.to_owned()),
        ]
    },
    canary_fields: |env| json!({ "transcript_path": "", "timestamp": env.now().to_string() }),
    parse_line: |read, _, line| parse_line(read, line),
    fill_missing_models: None,
});

fn aliases(tool: &str) -> &'static [&'static str] {
    match tool {
        "run_shell_command" => &["Bash"],
        "write_file" => &["Write"],
        "replace" => &["Edit"],
        "read_file" | "read_many_files" => &["Read"],
        "glob" => &["Glob"],
        "search_file_content" | "grep_search" => &["Grep"],
        "list_directory" => &["LS"],
        "web_fetch" => &["WebFetch"],
        "google_web_search" => &["WebSearch"],
        _ => &[],
    }
}

/// The hook event of a payload.
///
/// # Errors
/// The name of a missing field, in a sentence.
fn parse(event: &str, payload: &Payload, role: Option<&str>) -> Result<HookEvent, String> {
    Ok(match event {
        "SessionStart" => HookEvent::SessionStart(match payload.source.as_deref() {
            Some("resume") => StartKind::Resumed,
            Some("clear") => StartKind::Switched,
            _ => StartKind::Fresh,
        }),
        "BeforeAgent" => HookEvent::TurnStart,
        "BeforeTool" => HookEvent::BeforeTool(payload.tool_call(|tool| PROVIDER.neutral_names(tool), role)?),
        "AfterTool" => {
            let name = Payload::require("tool_name", payload.tool_name.as_ref())?.to_owned();
            let failed = payload.tool_response.as_ref().and_then(|response| response.get("error"));
            let success = Some(failed.is_none_or(Value::is_null));
            let used = ToolUse { key: payload.tool_use_id.clone(), name, success, duration_ms: None };
            let (files, finds_program) = (payload.written_files(), payload.finds_program());
            HookEvent::AfterTool(ToolEnd { used, files, finds_program })
        }
        "AfterAgent" => HookEvent::TurnEnd(payload.last_assistant_message.clone()),
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
    let tool = field("tool_name").or_else(|| field("toolName")).or_else(|| field("type")).unwrap_or("tool");
    ToolCall {
        aliases: PROVIDER.neutral_names(tool),
        role: role.map(str::to_owned),
        ..ToolCall::new(tool, details.cloned().unwrap_or_default())
    }
}

/// The reply in Gemini CLI's form; `None` for no output.
fn reply(event: &str, reply: &Reply) -> Option<Value> {
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

fn would_block(outcome: &HookOutput) -> Result<(), String> {
    let code = match outcome.end {
        ExitReason::Code(code) => code,
        end => return Err(describe_end(end)),
    };
    let (stdout, stderr) = (outcome.stdout.trim(), outcome.stderr.trim());
    let text = if stdout.is_empty() { stderr } else { stdout };
    match serde_json::from_str::<Value>(text) {
        Ok(reply) if reply["decision"] == "deny" || reply["decision"] == "block" => Ok(()),
        Ok(Value::Object(_)) => Err("the reply is not a denial".into()),
        _ if text.is_empty() => Err(match code {
            0 => "no output".to_owned(),
            code => format!("exit code {code} without output is not a denial"),
        }),
        // Text with an exit code of 2 or more is a denial with this text as its reason.
        _ if code >= 2 => Ok(()),
        _ => Err("stdout is not exactly one JSON object".into()),
    }
}

// The transcript: a response is written again with each addition. Its input includes cached tokens; its output does not include
// thoughts.

fn parse_line(read: &mut TranscriptSlice, line: &[u8]) {
    let Some(entry) = parse_if_contains(line, "\"type\"") else { return };
    let (used, Some(at)) = (&entry["tokens"], timestamp(&entry)) else { return };
    match entry["type"].as_str().unwrap_or_default() {
        "user" => read.is_busy = Some(true),
        // A response without text is followed by its tool calls.
        "gemini" => read.is_busy = Some(entry["toolCalls"].is_array() || non_empty_text(&entry["content"]).is_none()),
        _ => {}
    }
    if entry["type"] != "gemini" || !used.is_object() {
        return;
    }
    let cached = token_count(used, "cached");
    let input = token_count(used, "input").saturating_add(token_count(used, "tool"));
    let output = token_count(used, "output").saturating_add(token_count(used, "thoughts"));
    read.context_tokens = Some(input.saturating_add(output));
    let usage = Usage {
        model: non_empty_text(&entry["model"]),
        input_tokens: input.saturating_sub(cached),
        output_tokens: output,
        cache_read_tokens: cached,
        cache_creation_tokens: 0,
        cost_usd: None,
    };
    read.add(Turn { at, key: non_empty_text(&entry["id"]), usage: Some(usage), tools: Vec::new() });
}
