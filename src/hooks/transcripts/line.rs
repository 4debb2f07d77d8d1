//! Fields of one line of a transcript.

use serde_json::Value;

use crate::env::Timestamp;

/// A line as JSON if it contains `marker`. Other lines are not parsed, which saves most of the time.
pub(in crate::hooks) fn parse_if_contains(line: &[u8], marker: &str) -> Option<Value> {
    let text = std::str::from_utf8(line).ok()?;
    text.contains(marker).then(|| serde_json::from_str(text).ok()).flatten()
}

/// A number of tokens; 0 when it is missing or not a whole number.
pub(in crate::hooks) fn token_count(from: &Value, name: &str) -> u64 {
    from[name].as_u64().unwrap_or(0)
}

/// A text that is not empty.
pub(in crate::hooks) fn non_empty_text(from: &Value) -> Option<String> {
    from.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The time of the line.
pub(in crate::hooks) fn timestamp(from: &Value) -> Option<Timestamp> {
    from["timestamp"].as_str().and_then(Timestamp::parse)
}
