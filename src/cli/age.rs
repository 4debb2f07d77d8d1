//! Ages for people; JSON has the times.

pub use crate::domain::age::rough;
use crate::env::Timestamp;

/// A time in RFC 3339 as local date and time of day; another text as it is.
pub fn local(at: &str) -> String {
    Timestamp::parse(at).map_or_else(|| at.to_owned(), Timestamp::to_local)
}

/// The day of a time in RFC 3339, by the clock of this machine: `today`, or `on 2026-01-31`.
pub fn day(at: &str, now: Timestamp) -> String {
    let date = |local: String| local.get(..10).map(str::to_owned).unwrap_or(local);
    let day = date(local(at));
    if day == date(now.to_local()) { "today".to_owned() } else { format!("on {day}") }
}

/// The age of a time in RFC 3339, as `3m 20s`; `-` for another text.
pub fn age(at: &str, now: Timestamp) -> String {
    Timestamp::parse(at).map_or_else(|| "-".into(), |at| rough(now.since(at)))
}

/// A time that may lie ahead, as `in 3m 20s` or `3m 20s ago`.
pub fn due(at: Timestamp, now: Timestamp) -> String {
    if at > now { format!("in {}", rough(at.since(now))) } else { format!("{} ago", rough(now.since(at))) }
}
