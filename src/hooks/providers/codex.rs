//! Codex. It rejects a whole reply for one unknown field.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::claude;
use crate::hooks::CANARY;
use crate::hooks::install::shell_command;
use crate::hooks::payload::Payload;
use crate::hooks::provider::{EventSpec, HookOutput, Provider, ProviderSpec, describe_end};
use crate::hooks::transcripts::lines::{self, non_empty_text, parse_if_contains, timestamp, token_count};
use fairway_actions::agents::hook::HookEvent;
use fairway_core::domain::usage::{TranscriptSlice, Turn, Usage};
use fairway_core::guard::finds_own_program;
use fairway_core::os::exit_reason::ExitReason;

/// Codex's maximum timeout of these events, in seconds.
const SHORT_EVENTS: &[&str] = &["SessionEnd", "Interrupt"];
const MAX_SHORT_EVENT_SECS: u64 = 3;

pub(super) const PROVIDER: Provider = Provider::new(&ProviderSpec {
    label: "codex",
    events: &[
        EventSpec::other("SessionStart"),
        EventSpec::other("UserPromptSubmit"),
        EventSpec::tool("PreToolUse"),
        EventSpec::other("PermissionRequest"),
        EventSpec::other("PostToolUse"),
        EventSpec::other("Stop"),
        EventSpec::other("SubagentStop"),
        EventSpec::short("Interrupt"),
        EventSpec::short("SessionEnd"),
    ],
    // It cuts at about 2,500 tokens.
    worktree_events: &[],
    max_output_bytes: 6_000,
    import_file: None,
    process_names: &["codex"],
    pid_variable: None,
    project_dir_variable: None,
    settings_dir: ".codex",
    settings_file: "hooks.json",
    local_settings_file: None,
    settings_dir_variable: ("CODEX_HOME", false),
    has_plugin: false,
    reviews_hooks: true,
    aliases: |tool| match tool {
        "apply_patch" => &["Write", "Edit"],
        _ => &[],
    },
    parse,
    // An `allow` before a tool is not sent: Codex is not known to honour it.
    reply: claude::shared_reply,
    hook_entry,
    wake_hook: None,
    hooks_switch: None,
    check_settings: |value| {
        let is_known = |key: &str| matches!(key, "hooks" | "description");
        match value.as_object().and_then(|all| all.keys().find(|key| !is_known(key))) {
            Some(key) => Err(format!("has the unknown key '{}': codex does not load such a file", key.escape_debug())),
            None => Ok(()),
        }
    },
    settings_have_comments: false,
    settings_have_byte_order_mark: false,
    manual_steps: |in_project| {
        let trust = "codex skips the hooks without a message until you trust them: start codex and enter /hooks";
        let project = "codex reads a project's hooks only if its config.toml trusts the project";
        [trust].into_iter().chain(in_project.then_some(project)).collect()
    },
    would_block: |outcome, _| would_block(outcome),
    entries_have_arguments: false,
    shell: |own| own.unwrap_or("/bin/sh"),
    timeout_unit: Duration::from_secs(1),
    canary_env: |_: &Path| Vec::<(&str, PathBuf)>::new(),
    canary_fields: |_| json!({ "model": CANARY, "permission_mode": "default", "turn_id": CANARY, "tool_use_id": CANARY }),
    parse_line,
    fill_missing_models: Some(fill_missing_models),
});

/// The hook event of a payload.
///
/// # Errors
/// The name of a missing field, in a sentence.
fn parse(event: &str, payload: &Payload, role: Option<&str>) -> Result<HookEvent, String> {
    Ok(match event {
        "SessionStart" => HookEvent::SessionStart(claude::start_kind(payload)),
        "UserPromptSubmit" => HookEvent::TurnStart,
        "PreToolUse" => HookEvent::BeforeTool(payload.tool_call(|tool| PROVIDER.neutral_names(tool), role)?),
        "PermissionRequest" => {
            HookEvent::PermissionRequest(payload.tool_call(|tool| PROVIDER.neutral_names(tool), role)?)
        }
        // Codex sends no event for a failed call.
        "PostToolUse" => claude::tool_finished(payload, true)?,
        "Stop" => HookEvent::TurnEnd(payload.last_assistant_message.clone()),
        "Interrupt" => HookEvent::Interrupted,
        "SubagentStop" => HookEvent::SubagentEnd(payload.agent_transcript_path.clone()),
        "SessionEnd" => {
            HookEvent::SessionEnd { reason: payload.reason.clone().unwrap_or_else(|| "other".into()), continues: false }
        }
        _ => HookEvent::Other,
    })
}

fn hook_entry(program: &Path, event: &str, seconds: u64) -> Value {
    let seconds = if SHORT_EVENTS.contains(&event) { MAX_SHORT_EVENT_SECS } else { seconds };
    json!({ "type": "command", "command": shell_command(PROVIDER, program, event), "timeout": seconds })
}

/// The fields that Codex knows. It rejects a reply with any other field.
const CODEX_FIELDS: &[&str] =
    &["continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"];
const CODEX_OUTPUT_FIELDS: &[&str] =
    &["hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"];

fn would_block(outcome: &HookOutput) -> Result<(), String> {
    match outcome.end {
        ExitReason::Code(2) if outcome.stderr.trim().is_empty() => {
            Err("exit code 2 without text on stderr is not a denial".into())
        }
        ExitReason::Code(2) => Ok(()),
        ExitReason::Code(0) => {
            let text = outcome.stdout.trim();
            if text.is_empty() {
                return Err("no output".into());
            }
            let Ok(Value::Object(reply)) = serde_json::from_str(text) else {
                return Err("stdout is not exactly one JSON object".into());
            };
            let inner = reply.get("hookSpecificOutput").and_then(Value::as_object);
            let unknown = reply.keys().find(|key| !CODEX_FIELDS.contains(&key.as_str()));
            let unknown_inner =
                inner.and_then(|inner| inner.keys().find(|key| !CODEX_OUTPUT_FIELDS.contains(&key.as_str())));
            if let Some(field) = unknown.or(unknown_inner) {
                return Err(format!("the unknown field '{}' makes codex reject the whole reply", field.escape_debug()));
            }
            if reply.get("suppressOutput") == Some(&Value::Bool(true)) {
                return Err("suppressOutput makes codex reject the whole reply".into());
            }
            if reply.get("continue") == Some(&Value::Bool(false)) {
                return Err("continue: false is not a denial".into());
            }
            let text =
                |value: Option<&Value>| value.and_then(Value::as_str).map(str::trim).unwrap_or_default().to_owned();
            let of_inner = |name: &str| text(inner.and_then(|inner| inner.get(name)));
            let (is_denial, reason) = if of_inner("permissionDecision") == "deny" {
                (of_inner("hookEventName") == "PreToolUse", of_inner("permissionDecisionReason"))
            } else {
                (text(reply.get("decision")) == "block", text(reply.get("reason")))
            };
            match (is_denial, reason.is_empty()) {
                (true, false) => Ok(()),
                (true, true) => Err("codex ignores a denial without a reason".into()),
                (false, _) => Err("the reply is not a denial".into()),
            }
        }
        end => Err(describe_end(end)),
    }
}

// The transcript: one line with the usage of each response, whose input includes cached tokens. The model is named on a line at
// the start of each turn, perhaps long before the response. No hook tells of a command that failed: its line does.

fn parse_line(read: &mut TranscriptSlice, model: &mut Option<String>, line: &[u8]) {
    if let Some(named) = named_model(line) {
        *model = Some(named);
        return;
    }
    let Some(entry) = parse_if_contains(line, "event_msg").or_else(|| parse_if_contains(line, "token_usage_record"))
    else {
        return;
    };
    let (payload, Some(at)) = (&entry["payload"], timestamp(&entry)) else { return };
    if entry["type"] == "event_msg" {
        match payload["type"].as_str().unwrap_or_default() {
            "task_started" => read.is_busy = Some(true),
            "task_complete" | "turn_aborted" => read.is_busy = Some(false),
            "token_count" => {
                read.context_window = payload["info"]["model_context_window"].as_u64().or(read.context_window);
            }
            "item_completed" => read.finds_program = finds_program(&payload["item"]).or(read.finds_program),
            _ => {}
        }
    }
    if entry["type"] != "token_usage_record" || !payload["usage"].is_object() {
        return;
    }
    let used = &payload["usage"];
    let (cached, written) = (token_count(used, "cached_input_tokens"), token_count(used, "cache_write_input_tokens"));
    let (input, output) = (token_count(used, "input_tokens"), token_count(used, "output_tokens"));
    read.context_tokens = Some(input.saturating_add(output));
    let usage = Usage {
        model: model.clone(),
        input_tokens: input.saturating_sub(cached).saturating_sub(written),
        output_tokens: output,
        cache_read_tokens: cached,
        cache_creation_tokens: written,
        cost_usd: None,
    };
    read.add(Turn { at, key: non_empty_text(&payload["response_id"]), usage: Some(usage), tools: Vec::new() });
}

/// Whether the shell of a command that has ended finds `fairway`.
fn finds_program(item: &Value) -> Option<bool> {
    if item["type"] != "CommandExecution" {
        return None;
    }
    // The shell with its flags, and the text.
    let text = item["command"].as_array()?.last()?.as_str()?;
    finds_own_program(text, item["aggregated_output"].as_str()?)
}

/// Fills in the model of responses whose turn started before the part that was read.
fn fill_missing_models(read: &mut TranscriptSlice, path: &Path, from: u64) -> io::Result<()> {
    let mut nameless =
        read.turns.iter_mut().filter_map(|turn| turn.usage.as_mut()).filter(|usage| usage.model.is_none()).peekable();
    if from == 0 || nameless.peek().is_none() {
        return Ok(());
    }
    let mut model = None;
    lines::read_before(path, from, &mut |line| model = named_model(line).or(model.take()))?;
    nameless.for_each(|usage| usage.model.clone_from(&model));
    Ok(())
}

/// The model in a line that starts a turn.
fn named_model(line: &[u8]) -> Option<String> {
    let entry = parse_if_contains(line, "\"turn_context\"")?;
    (entry["type"] == "turn_context").then(|| non_empty_text(&entry["payload"]["model"])).flatten()
}
