//! The interface that Claude Code speaks.

use serde_json::{Value, json};

use super::{Answer, ParsedRequest, USED, texts};

pub(super) fn asked(request: &Value) -> ParsedRequest {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let said = messages.iter().map(|message| (message["role"] == "assistant", texts(&message["content"])));
    ParsedRequest { conversation: shell_tool(request).is_some(), said: said.collect() }
}

/// The name of the tool that runs commands. Other agents, which speak the same interface, have names of their own.
fn shell_tool(request: &Value) -> Option<&str> {
    let names = request["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
    let is_shell = |name: &str| name.eq_ignore_ascii_case("bash") || ["run_shell_command", "Execute"].contains(&name);
    names.into_iter().find(|name| is_shell(name))
}

/// The arguments of a command, with every other field that the tool demands. Some tools refuse any further one.
fn shell_input(request: &Value, command: &str) -> Value {
    let mut input = json!({ "command": command });
    let tool =
        request["tools"].as_array().into_iter().flatten().find(|tool| tool["name"].as_str() == shell_tool(request));
    let schema = tool.map_or(&Value::Null, |tool| &tool["input_schema"]);
    for field in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if input[field].is_null() {
            let first = &schema["properties"][field]["enum"][0];
            input[field] = if first.is_null() { json!("as asked") } else { first.clone() };
        }
    }
    input
}

/// The usage, in which what came from a cache stands apart.
fn usage() -> Value {
    let (input, cached, output) = USED;
    json!({
        "input_tokens": input - cached, "output_tokens": output, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
    })
}

/// A text, and then a block for each call: the record has a line for each.
fn blocks(request: &Value, answer: &Answer) -> Vec<Value> {
    let call = |(at, command): (usize, &String)| {
        json!({
            "type": "tool_use", "id": format!("toolu_{:04}_{at}", answer.number), "name": shell_tool(request),
            "input": shell_input(request, command),
        })
    };
    // A server that a plugin brings has its tools under longer names. A tool of the agent's own has its plain name.
    let offered = |tool: &str| {
        let names = request["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str());
        let end = format!("fairway__{tool}");
        names
            .into_iter()
            .find(|name| *name == tool || (name.starts_with("mcp__") && name.ends_with(&end)))
            .unwrap_or("unknown")
            .to_owned()
    };
    let tools = answer.tools.iter().enumerate().map(|(at, tool)| {
        json!({
            "type": "tool_use", "id": format!("toolu_{:04}_t{at}", answer.number), "name": offered(&tool.name),
            "input": tool.arguments,
        })
    });
    let calls = answer.commands.iter().enumerate().map(call).chain(tools);
    std::iter::once(json!({ "type": "text", "text": answer.text })).chain(calls).collect()
}

fn stop_reason(answer: &Answer) -> &'static str {
    if answer.calls() { "tool_use" } else { "end_turn" }
}

fn message(request: &Value, answer: &Answer, content: Vec<Value>, stop: Option<&str>) -> Value {
    json!({
        "id": format!("msg_{:04}", answer.number), "type": "message", "role": "assistant", "model": request["model"],
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage(),
    })
}

pub(super) fn whole(request: &Value, answer: &Answer) -> Value {
    message(request, answer, blocks(request, answer), Some(stop_reason(answer)))
}

pub(super) fn events(request: &Value, answer: &Answer) -> Value {
    let mut events = vec![json!({ "type": "message_start", "message": message(request, answer, Vec::new(), None) })];
    for (index, mut block) in blocks(request, answer).into_iter().enumerate() {
        let delta = if block["type"] == "text" {
            json!({ "type": "text_delta", "text": std::mem::replace(&mut block["text"], json!("")) })
        } else {
            let input = std::mem::replace(&mut block["input"], json!({}));
            json!({ "type": "input_json_delta", "partial_json": input.to_string() })
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": stop_reason(answer), "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": usage() }));
    events.push(json!({ "type": "message_stop" }));
    events.into()
}
