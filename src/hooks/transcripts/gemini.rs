//! Gemini CLI's transcript: a response is written again with each addition. Its input includes cached tokens; its output does not
//! include thoughts.

use super::line::{non_empty_text, parse_if_contains, timestamp, token_count};
use crate::domain::usage::{TranscriptSlice, Turn, Usage};

pub(super) fn parse_line(read: &mut TranscriptSlice, line: &[u8]) {
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
