//! Messages to sessions, lanes and roles: send, read, list and withdraw.

use std::fmt::Write;

use serde_json::Value;

use crate::{
    domain::{
        excerpt::excerpt,
        message::{HUMAN_SOURCES, SAYS_FROM},
        quote::{Mark, quote},
    },
    wire::MessageView,
};

pub mod inbox;
pub mod outbox;
pub mod send;

/// Formats messages for a person or agent: a header with the sender, then each line with a mark, `|` for a person's text and `>`
/// for a program's. With the marks no text can pass for another message or for a person's.
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
        let is_by_person = is_by_person(message);
        text.push_str(if is_by_person { ":\n" } else { " (text of a program, not the user's words):\n" });
        text.push_str(&quote(&message.content, if is_by_person { Mark::Work } else { Mark::Data }));
    }
    text
}

/// Whether a person wrote the message: its source is one that people use, and its sender is not a session.
pub fn is_by_person(message: &MessageView) -> bool {
    // A person's name holds an '@', a session's id never does.
    HUMAN_SOURCES.contains(&message.source.as_str()) && sender(message).is_some_and(|from| from.contains('@'))
}

fn sender(message: &MessageView) -> Option<&str> {
    message.metadata.get("from")?.as_str()
}
