//! Ages as people read them: `12m`, `1h 30m`.

use std::time::Duration;

/// Formats a duration for people, such as `1h 30m`: rounded down to minutes from an hour on, and to hours from a day on.
pub fn rough(span: Duration) -> String {
    let seconds = span.as_secs();
    let seconds = match seconds {
        0..3_600 => seconds,
        3_600..86_400 => seconds - seconds % 60,
        _ => seconds - seconds % 3_600,
    };
    humantime::format_duration(Duration::from_secs(seconds)).to_string()
}
