//! Single fields of the document, as the action that uses them understands them.

use std::time::Duration;

use serde_json::Number;

use super::document::{quoted, usage_error};
use crate::domain::{Refusal, RoutingKey};

/// The longest span of time, in seconds: a hundred years.
const MAX_DURATION_SECS: f64 = 100.0 * 366.0 * 24.0 * 60.0 * 60.0;

/// Parses the field `session_id`: the session to which a job or a list of jobs belongs.
pub(super) fn session_key(text: Option<&str>) -> Result<Option<RoutingKey>, Refusal> {
    let key = text.map(RoutingKey::parse).transpose();
    key.map_err(|why| Refusal::Usage { why: format!("session_id: {why}") })
}

/// Converts a number of seconds, which may have a fraction and must be greater than zero; `None` stays `None`. `name` is the
/// field in the error.
pub(super) fn seconds(name: &str, number: Option<&Number>) -> Result<Option<Duration>, Refusal> {
    let Some(number) = number else { return Ok(None) };
    let seconds = number.as_f64().unwrap_or_default();
    let in_range = seconds > 0.0 && seconds <= MAX_DURATION_SECS;
    let duration = if in_range { Duration::try_from_secs_f64(seconds).ok() } else { None };
    duration
        .filter(|duration| !duration.is_zero())
        .map(Some)
        .ok_or_else(|| usage_error(name, format!("must be more than 0 and at most a hundred years, not {number}")))
}

/// Converts whole milliseconds, which may be zero; `None` stays `None`. `name` is the field in the error.
pub(super) fn millis(name: &str, millis: Option<u64>) -> Result<Option<Duration>, Refusal> {
    let duration = millis.map(Duration::from_millis);
    match duration.filter(|duration| duration.as_secs_f64() > MAX_DURATION_SECS) {
        Some(_) => Err(usage_error(name, "is longer than a hundred years")),
        None => Ok(duration),
    }
}

/// Parses a text that must be one of the words in `all`; `None` stays `None`. The error names all of them, and the field by
/// `place`.
pub(super) fn choice<T: ToString>(
    place: &str,
    text: Option<&str>,
    all: &[T],
    parse: fn(&str) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    let unknown = || {
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        usage_error(place, format!("is {}, none of {}", quoted(text), all.join(", ")))
    };
    parse(text).map(Some).ok_or_else(unknown)
}
