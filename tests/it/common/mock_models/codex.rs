//! The interface that Codex speaks.

use serde_json::{Value, json};

use super::{Answer, CANARY, ESCALATED, ParsedRequest, USED, texts};

pub(super) fn asked(request: &Value) -> ParsedRequest {
    let items = request["input"].as_array().cloned().unwrap_or_default();
    let by_model = |item: &Value| {
        item["role"] == "assistant" || ["function_call", "reasoning"].map(Value::from).contains(&item["type"])
    };
    let said = items.iter().map(|item| {
        let content = if item["type"] == "function_call_output" { &item["output"] } else { &item["content"] };
        (by_model(item), texts(content))
    });
    let has_shell = request["tools"].as_array().into_iter().flatten().any(|tool| tool["name"] == "exec_command");
    ParsedRequest { conversation: has_shell, said: said.collect() }
}

pub(super) fn events(_: &Value, answer: &Answer) -> Value {
    let id = format!("resp_{:04}", answer.number);
    let mut events = vec![json!({ "type": "response.created", "response": { "id": id } })];
    let done = |item: Value| json!({ "type": "response.output_item.done", "item": item });
    for (at, command) in answer.commands.iter().enumerate() {
        let mut arguments = json!({ "cmd": command, "yield_time_ms": 30_000 });
        if command.ends_with(ESCALATED) || command == CANARY {
            arguments["sandbox_permissions"] = json!("require_escalated");
            arguments["justification"] = json!("as asked");
        }
        let arguments = arguments.to_string();
        events.push(done(json!({
            "type": "function_call", "id": format!("fc_{:04}_{at}", answer.number),
            "call_id": format!("call_{:04}_{at}", answer.number), "name": "exec_command", "arguments": arguments,
        })));
    }
    for (at, tool) in answer.tools.iter().enumerate() {
        events.push(done(json!({
            "type": "function_call", "id": format!("ft_{:04}_{at}", answer.number),
            "call_id": format!("tool_{:04}_{at}", answer.number), "namespace": "mcp__fairway", "name": tool.name,
            "arguments": tool.arguments.to_string(),
        })));
    }
    if !answer.calls() {
        events.push(done(json!({
            "type": "message", "id": format!("m_{:04}", answer.number), "role": "assistant",
            "content": [{ "type": "output_text", "text": answer.text }],
        })));
    }
    let (input, cached, output) = USED;
    let usage = json!({
        "input_tokens": input, "input_tokens_details": { "cached_tokens": cached }, "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": input + output,
    });
    events.push(json!({ "type": "response.completed", "response": { "id": id, "usage": usage } }));
    events.into()
}
