//! The interface that Gemini CLI speaks.

use serde_json::{Value, json};

use super::{Answer, ParsedRequest, USED, texts};

pub(super) fn asked(request: &Value) -> ParsedRequest {
    let contents = request["contents"].as_array().cloned().unwrap_or_default();
    let said = contents.iter().map(|content| (content["role"] == "model", texts(&content["parts"])));
    let functions = request["tools"].as_array().into_iter().flatten();
    let mut functions = functions.flat_map(|tool| tool["functionDeclarations"].as_array().cloned().unwrap_or_default());
    let has_shell = functions.any(|function| function["name"] == "run_shell_command");
    ParsedRequest { conversation: has_shell, said: said.collect() }
}

pub(super) fn events(request: &Value, answer: &Answer) -> Value {
    let call = |command: &String| json!({ "functionCall": { "name": "run_shell_command", "args": { "command": command, "description": "as asked" } } });
    let declared = request["tools"].as_array().into_iter().flatten();
    let declared = declared.flat_map(|tool| tool["functionDeclarations"].as_array().into_iter().flatten());
    let names: Vec<&str> = declared.filter_map(|function| function["name"].as_str()).collect();
    let tools = answer.tools.iter().map(|tool| {
        let end = format!("fairway_{}", tool.name);
        // A tool that the agent does not offer is called all the same, so that its error is seen.
        let name = names.iter().find(|name| name.ends_with(&end)).copied().unwrap_or(&tool.name);
        json!({ "functionCall": { "name": name, "args": tool.arguments } })
    });
    let mut parts: Vec<Value> = answer.commands.iter().map(call).chain(tools).collect();
    if request["tools"].is_null() {
        // Which model is to answer: it asks a model.
        let choice =
            json!({ "reasoning": "-", "model_choice": "flash", "complexity_reasoning": "-", "complexity_score": 1 });
        parts.push(json!({ "text": choice.to_string() }));
    } else if parts.is_empty() {
        parts.push(json!({ "text": answer.text }));
    }
    let (input, cached, output) = USED;
    json!([{
        "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": {
            "promptTokenCount": input, "cachedContentTokenCount": cached, "candidatesTokenCount": output,
            "totalTokenCount": input + output,
        },
    }])
}
