//! The conversation as text, one piece at a time: prompts, answers, tool calls with their results, the plan. All text of the
//! agent is escaped.

use std::fmt::Write as _;

use serde_json::Value;

use super::tool_call::{self, PermissionChoice, ToolCall};
use crate::domain::quote::is_hidden;

/// The longest piece of one tool's result, in bytes.
const MAX_RESULT_BYTES: usize = 4 << 10;
/// How many calls are remembered by their state.
const MAX_CALLS: usize = 512;

/// The state that the next piece depends on: which calls were shown, and whether a line is open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversation {
    /// Whether the last piece ended without a newline.
    is_open_line: bool,
    /// The ids of the calls whose title was printed, and of those whose result was printed.
    titled: Vec<String>,
    ended: Vec<String>,
    plan: String,
}

impl Conversation {
    /// Formats a prompt with each line quoted by `> `. From then on, a tool call that was shown before counts as not shown yet.
    pub fn prompt(&mut self, text: &str) -> String {
        self.titled.clear();
        self.ended.clear();
        let mut piece = self.new_paragraph();
        for line in escape(text.trim_end()).lines() {
            let _ = writeln!(piece, "> {line}");
        }
        piece
    }

    /// Formats a note of the session's supervisor as one line in brackets.
    pub fn note(&mut self, text: &str) -> String {
        format!("{}[{}]\n", self.new_line(), escape(text).replace('\n', " "))
    }

    /// Formats the end of a turn. For the ordinary reason, `end_turn`, the result only ends a line that is still open.
    pub fn turn_end(&mut self, stop_reason: &str) -> String {
        match stop_reason {
            "end_turn" => self.new_line(),
            other => self.note(&format!("turn ended: {other}")),
        }
    }

    /// Formats the agent's question whether the tool call `call` may run.
    pub fn question(&mut self, call: &ToolCall) -> String {
        self.note(&format!("the agent asks: {}", call.describe()))
    }

    /// Formats the note that the agent describes a call otherwise than it did when it asked.
    pub fn changed(&mut self, call: &ToolCall) -> String {
        self.note(&format!("the agent has changed the call: {}", call.describe()))
    }

    /// Formats the answer to the agent's question about a tool call. `kind` is that of the agent's option that is chosen; `None`
    /// when the agent offers none that fits, and the question is cancelled.
    pub fn decision(&mut self, choice: &PermissionChoice, kind: Option<&str>) -> String {
        let lasting = if kind.is_some_and(|kind| kind.ends_with("_always")) { " always" } else { "" };
        let text = match choice {
            PermissionChoice::Allow { .. } if kind.is_none() => "cancelled: it offers no such answer".to_owned(),
            PermissionChoice::Allow { .. } => format!("allowed{lasting}"),
            PermissionChoice::Deny { why: None, .. } => format!("denied{lasting}"),
            PermissionChoice::Deny { why: Some(why), .. } => format!("denied{lasting}: {why}"),
        };
        self.note(&text)
    }

    /// Formats an update from the agent (`session/update`). Returns an empty text for a kind of update that is not shown. Updates
    /// of tool calls are formatted by [`tool`](Self::tool).
    pub fn update(&mut self, update: &Value) -> String {
        match update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default() {
            "agent_message_chunk" => match update.get("content").and_then(tool_call::content_text) {
                Some(text) => self.chunk(&text),
                None => String::new(),
            },
            "user_message_chunk" => match update.get("content").and_then(tool_call::content_text) {
                Some(text) => self.prompt(&text),
                None => String::new(),
            },
            "plan" => self.plan(update),
            _ => String::new(),
        }
    }

    fn chunk(&mut self, text: &str) -> String {
        let text = escape(text);
        if let Some(last) = text.chars().next_back() {
            self.is_open_line = last != '\n';
        }
        text
    }

    /// Formats an update of a tool call; `call` must already include the update. The title and the result of a call are returned
    /// once each; the result is empty when there is nothing new to show.
    pub fn tool(&mut self, call: &ToolCall, update: &Value) -> String {
        let mut piece = String::new();
        let is_new = !self.titled.contains(&call.id);
        if is_new && self.titled.len() < MAX_CALLS && call.is_described() {
            piece = format!("{}* {}\n", self.new_line(), escape(&call.describe()).replace('\n', " "));
            self.titled.push(call.id.clone());
        }
        if call.has_ended() && !self.ended.contains(&call.id) && self.ended.len() < MAX_CALLS {
            let result = call.result(update);
            let end = result.floor_char_boundary(MAX_RESULT_BYTES);
            let shown = escape(result.get(..end).unwrap_or_default().trim_end());
            for line in shown.lines() {
                let _ = writeln!(piece, "  {line}");
            }
            if end < result.len() {
                let _ = writeln!(piece, "  … {} bytes more", result.len() - end);
            }
            if call.has_failed() {
                piece.push_str("  (failed)\n");
            }
            self.ended.push(call.id.clone());
        }
        piece
    }

    fn plan(&mut self, update: &Value) -> String {
        let entries = update.get("entries").and_then(Value::as_array);
        let mut text = String::new();
        for entry in entries.into_iter().flatten().take(100) {
            let part = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
            let mark = match part("status") {
                "completed" => "x",
                "in_progress" => ">",
                _ => " ",
            };
            let _ = writeln!(text, "  [{mark}] {}", escape(part("content")).replace('\n', " "));
        }
        if text.is_empty() || text == self.plan {
            return String::new();
        }
        self.plan.clone_from(&text);
        format!("{}plan:\n{text}", self.new_line())
    }

    fn new_line(&mut self) -> String {
        if std::mem::take(&mut self.is_open_line) { "\n".to_owned() } else { String::new() }
    }

    fn new_paragraph(&mut self) -> String {
        format!("{}\n", self.new_line())
    }
}

/// Escapes control characters and invisible characters, so that the text can neither move the cursor nor hide anything. Newlines
/// and tabs stay.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => safe.push(character),
            '\r' if characters.peek() == Some(&'\n') => {}
            character if character.is_control() || is_hidden(character) => safe.extend(character.escape_unicode()),
            character => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(text: &str) -> Value {
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
    }

    #[test]
    fn conversation_is_text_with_prompts_answers_tools_and_plan() {
        let mut conversation = Conversation::default();
        let mut text = conversation.prompt("do it\nnow");
        let tool = |status: &str, kind: &str| {
            json!({ "sessionUpdate": kind, "toolCallId": "1", "title": "touch x", "kind": "execute", "status": status,
                "rawInput": { "command": "touch x" },
                "content": [{ "type": "content", "content": { "type": "text", "text": "made\n" } }] })
        };
        let entry = json!({ "content": "first", "status": "in_progress" });
        let mut call = ToolCall::new("1");
        for update in [
            message("I wi"),
            message("ll."),
            tool("pending", "tool_call"),
            tool("in_progress", "tool_call_update"),
            tool("completed", "tool_call_update"),
            tool("completed", "tool_call_update"),
            json!({ "sessionUpdate": "plan", "entries": [entry] }),
            json!({ "sessionUpdate": "plan", "entries": [entry] }),
            json!({ "sessionUpdate": "of tomorrow", "x": [] }),
            message("done"),
        ] {
            match ToolCall::from_json(&update) {
                Some(news) => {
                    call.merge(news);
                    text.push_str(&conversation.tool(&call, &update));
                }
                None => text.push_str(&conversation.update(&update)),
            }
        }
        text.push_str(&conversation.turn_end("end_turn"));
        assert_eq!(text, "\n> do it\n> now\nI will.\n* Bash: touch x\n  made\nplan:\n  [>] first\ndone\n");
    }

    #[test]
    fn hostile_text_is_escaped_and_bounded() {
        let mut conversation = Conversation::default();
        let text = conversation.update(&message("a\u{1b}]0;x\u{7}\u{200b}\r\nb\r"));
        assert_eq!(text, "a\\u{1b}]0;x\\u{7}\\u{200b}\nb\\u{d}");
        let long = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "x\n\u{1b}", "status": "failed",
            "content": [{ "type": "content", "content": { "type": "text", "text": "ä".repeat(10_000) } }] });
        let text = conversation.tool(&ToolCall::from_json(&long).unwrap(), &long);
        assert!(text.len() < 5_000 && text.ends_with(" bytes more\n  (failed)\n"), "{text}");
        assert!(!text.contains('\u{1b}') && text.starts_with("\n* "));
        for hostile in [json!(7), json!({ "sessionUpdate": [] }), json!({ "sessionUpdate": "plan", "entries": 7 })] {
            assert_eq!(conversation.update(&hostile), "");
        }
    }
}
