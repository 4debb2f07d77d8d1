//! Messages to sessions, lanes and roles: send, read, list and withdraw.

use std::fmt::Write;

use serde_json::Value;

use fairway_core::domain::excerpt::excerpt;
use fairway_core::domain::message::{HUMAN_SOURCES, REVIEW_SOURCE, SAYS_FROM, WORDS};
use fairway_core::domain::quote::{Mark, quote};
use fairway_core::wire::MessageView;

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
        let (before, words, after) = if is_by_person { words(message) } else { (message.content.as_str(), "", "") };
        text.push_str(&quote(before, Mark::Data));
        text.push_str(&quote(words, Mark::Work));
        text.push_str(&quote(after, Mark::Data));
    }
    text
}

/// Whether a person wrote the message: its source is one that people use, and its sender is not a session.
pub fn is_by_person(message: &MessageView) -> bool {
    is_by_hand(message) || (message.source == REVIEW_SOURCE && sender(message).is_some_and(is_person))
}

/// Whether a person wrote the whole message. It is typed unchanged, so that it can be a command of the agent's program.
pub fn is_by_hand(message: &MessageView) -> bool {
    HUMAN_SOURCES.contains(&message.source.as_str()) && sender(message).is_some_and(is_person)
}

/// A person's name holds an '@', a session's id never does.
fn is_person(from: &str) -> bool {
    from.contains('@')
}

/// A person's message in three parts: the person's own words, with the text of Fairway before and behind them.
fn words(message: &MessageView) -> (&str, &str, &str) {
    let content = message.content.as_str();
    let range = message.metadata.get(WORDS).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let place = |at: &Value| at.as_u64().and_then(|at| usize::try_from(at).ok());
    let ends: Option<Vec<usize>> = range.iter().map(place).collect();
    let parts = match ends.as_deref() {
        Some([begin, end]) => content.get(..*begin).zip(content.get(*begin..*end)).zip(content.get(*end..)),
        _ => None,
    };
    parts.map_or(("", content, ""), |((before, words), after)| (before.trim_end(), words, after.trim_start()))
}

fn sender(message: &MessageView) -> Option<&str> {
    message.metadata.get("from")?.as_str()
}
