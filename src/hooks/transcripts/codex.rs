//! Codex's transcript: one line with the usage of each response, whose input includes cached tokens. The model is named on a line
//! at the start of each turn, perhaps long before the response. No hook tells of a command that failed: its line does.

use std::{io, path::Path};

use serde_json::Value;

use super::{
    line::{non_empty_text, parse_if_contains, timestamp, token_count},
    line_reader,
};
use crate::{
    domain::usage::{TranscriptSlice, Turn, Usage},
    guard::finds_own_program,
};

pub(super) fn parse_line(read: &mut TranscriptSlice, model: &mut Option<String>, line: &[u8]) {
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
pub(super) fn fill_missing_models(read: &mut TranscriptSlice, path: &Path, from: u64) -> io::Result<()> {
    let mut nameless =
        read.turns.iter_mut().filter_map(|turn| turn.usage.as_mut()).filter(|usage| usage.model.is_none()).peekable();
    if from == 0 || nameless.peek().is_none() {
        return Ok(());
    }
    let mut model = None;
    line_reader::read_before(path, from, &mut |line| model = named_model(line).or(model.take()))?;
    nameless.for_each(|usage| usage.model.clone_from(&model));
    Ok(())
}

/// The model in a line that starts a turn.
fn named_model(line: &[u8]) -> Option<String> {
    let entry = parse_if_contains(line, "\"turn_context\"")?;
    (entry["type"] == "turn_context").then(|| non_empty_text(&entry["payload"]["model"])).flatten()
}
