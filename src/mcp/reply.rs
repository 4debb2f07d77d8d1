//! Answers of tools: a short text for the model, and the document of the command.

use std::fmt::Write as _;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use fairway_actions::Answer;
use fairway_core::domain::quote::{is_hidden, reveal_hidden};
use fairway_core::render::{escape_controls, strip_controls};
use fairway_core::wire::Failure;

pub(super) const MAX_LINES: usize = 15;
/// The longest text, in characters.
const MAX_CHARS: usize = 4_000;
/// The longest sentence of a failure, in characters: it may repeat a value of any length.
const MAX_SENTENCE: usize = 600;

#[derive(Debug)]
pub(super) struct Reply {
    /// The text for the model; text of people and agents in it is quoted.
    pub text: String,
    /// The JSON document of the command.
    pub document: Value,
}

impl Reply {
    pub(super) fn new(text: impl Into<String>, document: Value) -> Self {
        Self { text: text.into(), document }
    }

    /// Joins the line and the notes of a command's answer to one text. The answer's document is kept beside it.
    pub(super) fn of_answer(answer: Answer) -> Self {
        let mut text = answer.line;
        for note in &answer.notes {
            let _ = write!(text, "\nnote: {note}");
        }
        Self { text, document: answer.document }
    }

    pub(super) fn into_result(self) -> CallToolResult {
        let text = shortened(&self.text);
        // Clients give the model the document in place of the text, so the document begins with it: there the words of others
        // stand behind their marks. Clients of the older protocol take objects only.
        let fields = match self.document {
            Value::Object(fields) => fields,
            other => Map::from_iter([("items".to_owned(), other)]),
        };
        let mut document = Value::Object([("text".to_owned(), json!(text))].into_iter().chain(fields).collect());
        reveal(&mut document);
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = Some(document);
        result
    }
}

/// Replaces characters that a person cannot see, but a model can, by visible escapes.
fn reveal(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(is_hidden) => *text = reveal_hidden(text),
        Value::Array(items) => items.iter_mut().for_each(reveal),
        Value::Object(fields) => fields.values_mut().for_each(reveal),
        _ => {}
    }
}

/// Turns a failure into a tool's result, with the failure's message, code and hint.
pub(super) fn failure(failure: &Failure, tool: &str) -> CallToolResult {
    let error = serde_json::to_value(failure).unwrap_or_else(|_| json!({ "code": failure.code }));
    error_result(error, tool)
}

/// Turns an error document into a tool's result. Its text, which a model reads, has the message, the code and the next steps.
pub(super) fn error_result(error: Value, tool: &str) -> CallToolResult {
    let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let sentence = strip_controls(&reveal_hidden(text("message")));
    let mut said: String = sentence.chars().take(MAX_SENTENCE).collect();
    if sentence.chars().nth(MAX_SENTENCE).is_some() {
        said.push('…');
    }
    let mut lines = format!("error: {said}\ncode: {}", text("code"));
    for hint in text("hint").lines() {
        let _ = write!(lines, "\nnext: {}", strip_controls(&reveal_hidden(hint)));
    }
    if text("hint").is_empty() {
        // The command line names its help here, which a client without a shell cannot read. The document stays that of the
        // command.
        let next = match (text("kind"), text("code")) {
            ("usage", _) | (_, "program_not_found") => "correct the arguments and call",
            ("empty", _) => "go on with your work, and later call",
            _ => "",
        };
        if !next.is_empty() {
            let _ = write!(lines, "\nnext: {next} {tool} again");
        }
    }
    let mut result = CallToolResult::error(vec![ContentBlock::text(shortened(&lines))]);
    let mut document = json!({ "error": error });
    reveal(&mut document);
    result.structured_content = Some(document);
    result
}

/// Escapes control characters and shortens a text to [`MAX_LINES`] whole lines.
fn shortened(text: &str) -> String {
    let text = escape_controls(text);
    let text = text.trim_end();
    let (mut kept, mut chars) = (Vec::new(), 0);
    let mut lines = text.lines();
    for line in lines.by_ref() {
        chars += line.chars().count() + 1;
        if kept.len() == MAX_LINES || chars > MAX_CHARS && !kept.is_empty() {
            let more = lines.count() + 1;
            // The place of the last line that fits.
            let dropped = if kept.len() == MAX_LINES { kept.pop().map_or(0, |_| 1) } else { 0 };
            kept.push(format!("… {} more lines; the document has all", more + dropped));
            break;
        }
        kept.push(line.chars().take(MAX_CHARS).collect());
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_at_most_fifteen_lines_and_says_what_is_missing() {
        let lines = |count: usize| (1..=count).map(|line| format!("line {line}\n")).collect::<String>();
        assert_eq!(shortened(&lines(15)).lines().count(), 15);
        let long = shortened(&lines(100));
        assert_eq!(long.lines().count(), 15, "{long}");
        assert!(long.ends_with("line 14\n… 86 more lines; the document has all"), "{long}");
        assert!(shortened(&format!("{}\nend", "x".repeat(9_000))).starts_with("xxx"));
        assert_eq!(shortened("a\u{1b}[31mb"), "a\\u{1b}[31mb");
    }

    #[test]
    fn refusal_has_sentence_code_and_next_step() {
        let error = json!({"code": "stale_claim", "message": "T-1 has\nanother claim", "hint": "one\ntwo"});
        let result = error_result(error, "note");
        assert_eq!(result.is_error, Some(true));
        let text = serde_json::to_value(&result).unwrap()["content"][0]["text"].clone();
        assert_eq!(text, "error: T-1 has another claim\ncode: stale_claim\nnext: one\nnext: two");
        assert_eq!(result.structured_content.unwrap()["error"]["code"], "stale_claim");
    }
}
