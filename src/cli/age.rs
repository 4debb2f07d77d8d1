//! Ages for people; JSON has the times.

pub use fairway_core::domain::age::rough;
use fairway_core::env::Timestamp;

/// Converts an RFC 3339 time to local date and time of day. Returns any other text unchanged.
pub fn local(at: &str) -> String {
    Timestamp::parse(at).map_or_else(|| at.to_owned(), Timestamp::to_local)
}

/// Formats the local day of an RFC 3339 time: `today`, or `on 2026-01-31`.
pub fn day(at: &str, now: Timestamp) -> String {
    let date = |local: String| local.get(..10).map(str::to_owned).unwrap_or(local);
    let day = date(local(at));
    if day == date(now.to_local()) { "today".to_owned() } else { format!("on {day}") }
}

/// Formats the age of an RFC 3339 time, such as `3m 20s`. Returns `-` when `at` is not a time.
pub fn age(at: &str, now: Timestamp) -> String {
    Timestamp::parse(at).map_or_else(|| "-".into(), |at| rough(now.since(at)))
}

/// Formats a past or future time relative to `now`: `3m 20s ago` or `in 3m 20s`.
pub fn due(at: Timestamp, now: Timestamp) -> String {
    if at > now { format!("in {}", rough(at.since(now))) } else { format!("{} ago", rough(now.since(at))) }
}
