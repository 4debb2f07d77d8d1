//! Claude Code's transcript: each block of a response has a line of its own, with the usage of the whole response.

use serde_json::Value;

use super::line::{non_empty_text, parse_if_contains, timestamp, token_count};
use crate::domain::usage::{TranscriptSlice, Turn, Usage};

pub(super) fn parse_line(read: &mut TranscriptSlice, line: &[u8]) {
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
