//! The frames that this client writes. Each has exactly the fields of the protocol's version 1.

use serde_json::{Value, json};

use super::frame::REQUEST_CANCELLED;
use super::tool_call::PermissionOption;

/// The version of the protocol.
pub const PROTOCOL_VERSION: u64 = 1;

pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// The parameters of `initialize`. They tell the agent that this client has no methods for files and terminals: each call of such
/// a method would need a guard decision of its own.
pub fn initialize(version: &str) -> Value {
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
        "clientInfo": { "name": "fairway", "version": version },
    })
}

/// The parameters of `session/new`. The list of MCP servers is empty but present, because agents fail without it.
pub fn new_session(cwd: &str) -> Value {
    json!({ "cwd": cwd, "mcpServers": [] })
}

/// The parameters of `session/load` and `session/resume`. `conversation` is the agent's id of the conversation to continue.
pub fn continue_session(conversation: &str, cwd: &str) -> Value {
    json!({ "sessionId": conversation, "cwd": cwd, "mcpServers": [] })
}

/// The parameters of `session/set_mode`.
pub fn set_mode(conversation: &str, mode: &str) -> Value {
    json!({ "sessionId": conversation, "modeId": mode })
}

/// The parameters of `session/set_config_option`.
pub fn set_config_option(conversation: &str, option: &str, value: &str) -> Value {
    json!({ "sessionId": conversation, "configId": option, "value": value })
}

/// The parameters of `session/prompt`. Each text becomes a content block of its own.
pub fn prompt(conversation: &str, texts: &[&str]) -> Value {
    let parts: Vec<Value> = texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
    json!({ "sessionId": conversation, "prompt": parts })
}

/// The parameters of `_session/steering`, an extension of the protocol that passes a prompt into the running turn. They ask the
/// agent to answer `promptRequired` when no turn runs any more, and to leave the prompt to this client then.
pub fn steering(conversation: &str, text: &str) -> Value {
    let mut params = prompt(conversation, &[text]);
    params["_meta"] = json!({ "steering": { "idleBehavior": "promptRequired" } });
    params
}

/// The notification that asks the agent to end its turn.
pub fn cancel(conversation: &str) -> Value {
    notification("session/cancel", json!({ "sessionId": conversation }))
}

/// The answer to the permission request `id` that selects `option`, one of the options that the request offered.
pub fn permission_selected(id: &Value, option: &PermissionOption) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": { "outcome": "selected", "optionId": option.id } } })
}

/// The answer to the permission request `id` of a turn that was cancelled.
pub fn permission_cancelled(id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": { "outcome": "cancelled" } } })
}

/// The answer to the request `id` after its sender has withdrawn it.
pub fn request_cancelled(id: &Value) -> Value {
    error(id, REQUEST_CANCELLED, "the request was withdrawn")
}

pub fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
