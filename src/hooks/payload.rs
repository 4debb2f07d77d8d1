//! The JSON that providers send to a hook. Unknown fields are ignored; a field that an event needs is required by name.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use fairway_actions::agents::guard::{self, ToolCall};
use fairway_core::guard::finds_own_program;

/// All fields that are read, of any provider. A field of a wrong type or a duplicate field makes the whole payload invalid.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload {
    pub hook_event_name: Option<String>,
    pub session_id: Option<String>,
    pub transcript_path: Option<String>,
    pub cwd: Option<PathBuf>,
    pub agent_id: Option<String>,
    pub agent_transcript_path: Option<PathBuf>,
    pub source: Option<String>,
    pub reason: Option<String>,
    pub tool_name: Option<String>,
    pub tool_input: Option<Value>,
    pub tool_use_id: Option<String>,
    pub tool_response: Option<Value>,
    pub duration_ms: Option<f64>,
    pub message: Option<String>,
    pub notification_type: Option<String>,
    pub details: Option<Value>,
    pub error: Option<Value>,
    pub error_details: Option<Value>,
    pub name: Option<String>,
    pub worktree_path: Option<String>,
    #[serde(alias = "prompt_response")]
    pub last_assistant_message: Option<String>,
}

impl Payload {
    /// Parses the JSON that a provider passes to a hook.
    ///
    /// # Errors
    /// A sentence that names the problem.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err("stdin is empty: expected the provider's JSON".into());
        }
        let text = str::from_utf8(bytes).map_err(|error| format!("stdin is not the provider's JSON: {error}"))?;
        serde_json::from_str(text).map_err(|error| format!("stdin is not the provider's JSON: {error}"))
    }

    /// Fails when the JSON names another event.
    pub(super) fn check_event(&self, event: &str) -> Result<(), String> {
        match Self::require("hook_event_name", self.hook_event_name.as_ref())? {
            named if named == event => Ok(()),
            named => Err(format!("the hook was called for event {event}, but its JSON names {named}")),
        }
    }

    /// Returns a field that the event must have, and that must not be empty. `name` is the field's name in the error.
    ///
    /// # Errors
    /// A sentence that names the missing field.
    pub(super) fn require<'a>(name: &str, field: Option<&'a String>) -> Result<&'a str, String> {
        let field = field.map(String::as_str).filter(|field| !field.is_empty());
        field.ok_or_else(|| format!("the provider's JSON has no {name}"))
    }

    /// The absolute paths of the files that the tool call writes, according to its input. Empty when the payload has no tool
    /// or no input.
    pub(super) fn written_files(&self) -> Vec<PathBuf> {
        let cwd = self.cwd.as_deref().filter(|cwd| cwd.is_absolute());
        match (&self.tool_name, &self.tool_input) {
            (Some(tool), Some(input)) => guard::written_files(tool, input, cwd),
            _ => Vec::new(),
        }
    }

    /// Whether the shell in which the tool ran a command finds `fairway`, judged by the output of the command. Returns `None`
    /// when the output does not show it, and for a command in the background, which has no output yet.
    pub(super) fn finds_program(&self) -> Option<bool> {
        let input = self.tool_input.as_ref()?;
        let in_background = ["run_in_background", "is_background"].iter().any(|name| input[*name] == true);
        let text = input.get("command").and_then(Value::as_str).filter(|_| !in_background)?;
        let answers = [self.tool_response.as_ref(), self.error.as_ref()];
        let mut output = String::new();
        for answer in answers.into_iter().flatten() {
            let texts: Vec<&str> = match answer {
                Value::String(text) => vec![text],
                Value::Object(fields) => fields.values().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            for text in texts {
                output.push_str(text);
                output.push('\n');
            }
        }
        finds_own_program(text, &output)
    }

    /// Returns the tool call of the payload. `names` returns the neutral names of a tool, which guard rules use beside the
    /// provider's own name.
    ///
    /// # Errors
    /// The name of a missing field, in a sentence.
    pub(super) fn tool_call(&self, names: fn(&str) -> Vec<String>, role: Option<&str>) -> Result<ToolCall, String> {
        let tool = Self::require("tool_name", self.tool_name.as_ref())?;
        let input = self.tool_input.clone().ok_or("the provider's JSON has no tool_input")?;
        let cwd = self.cwd.clone().filter(|cwd| cwd.is_absolute()).ok_or("the provider's JSON has no cwd")?;
        let role = role.map(str::to_owned);
        Ok(ToolCall { aliases: names(tool), cwd: Some(cwd), role, ..ToolCall::new(tool, input) })
    }
}
