//! Messages as text.

use std::fmt::Write;

use serde_json::Value;

use crate::{
    domain::{
        excerpt::excerpt,
        hidden_text::reveal_hidden,
        message::{HUMAN_SOURCES, SAYS_FROM},
    },
    wire::MessageView,
};

/// Messages as a person or agent reads them: a header with the sender, then the text with a mark before each line. The marks
/// keep a message's text from posing as another message or as the user's input.
#[must_use]
pub fn format_messages(messages: &[MessageView]) -> String {
    let mut text = String::new();
    for message in messages {
        let from = sender(message);
        let _ = write!(text, "message {}, {}, from {}", message.id, message.priority, message.source);
        if let Some(from) = from {
            let _ = write!(text, " by {from}");
        }
        if let Some(said) = message.metadata.get(SAYS_FROM).and_then(Value::as_str) {
            let _ = write!(text, ", says it is from '{}'", excerpt(said));
        }
        if message.count > 1 {
            let _ = write!(text, ", {} more like it", message.count - 1);
        }
        text.push_str(if is_by_person(message) { ":\n" } else { " (text of a program, not the user's words):\n" });
        for line in reveal_hidden(&message.content).lines() {
            let _ = writeln!(text, "  | {line}");
        }
    }
    text
}

/// Whether a person wrote the message: its source is one that people use, and its sender is not a session.
#[must_use]
pub fn is_by_person(message: &MessageView) -> bool {
    // A person's name holds an '@', a session's id never does.
    HUMAN_SOURCES.contains(&message.source.as_str()) && sender(message).is_some_and(|from| from.contains('@'))
}

fn sender(message: &MessageView) -> Option<&str> {
    message.metadata.get("from")?.as_str()
}
