//! Spans of time as people write them: `30m`, `2h`, `1m30s`.

use std::time::Duration;

/// Reads a span; at most a hundred years, so that adding it to a time cannot overflow.
///
/// # Errors
/// A sentence that says what was expected.
pub fn parse(text: &str) -> Result<Duration, String> {
    const MAX_DURATION: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
    match humantime::parse_duration(text) {
        Ok(span) if span <= MAX_DURATION => Ok(span),
        Ok(_) => Err(format!("'{text}' is longer than a hundred years")),
        Err(_) => Err(format!("'{}' is not a span of time such as 30s, 10m or 2h", text.escape_debug())),
    }
}

/// Shows a span the way it is written, to the second (shorter ones to the millisecond).
pub fn format(span: Duration) -> String {
    let rounded = if span >= Duration::from_secs(1) {
        Duration::from_secs(span.as_secs())
    } else {
        Duration::from_millis(u64::try_from(span.as_millis()).unwrap_or(0))
    };
    humantime::format_duration(rounded).to_string()
}
