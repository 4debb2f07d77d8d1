//! Fields of one line of a transcript.

use serde_json::Value;

use crate::env::Timestamp;

/// A line as JSON, if it holds one of these words; the others need not be understood.
pub(super) fn parse_if_contains(line: &[u8], word: &str) -> Option<Value> {
    let text = std::str::from_utf8(line).ok()?;
    text.contains(word).then(|| serde_json::from_str(text).ok()).flatten()
}

/// A number of tokens; what is absent or odd is none.
pub(super) fn token_count(from: &Value, name: &str) -> u64 {
    from[name].as_u64().unwrap_or(0)
}

/// A text that is there and not empty.
pub(super) fn non_empty_text(from: &Value) -> Option<String> {
    from.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// When the line was written.
pub(super) fn timestamp(from: &Value) -> Option<Timestamp> {
    from["timestamp"].as_str().and_then(Timestamp::parse)
}
