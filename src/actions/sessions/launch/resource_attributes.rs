//! `OTEL_RESOURCE_ATTRIBUTES`: an agent's own telemetry says for which session, lane and task it is.

use std::fmt::Write as _;

use crate::domain::session::Session;

/// The beginning of our names.
const PREFIX: &str = "fairway.";

/// The value for a session: what is there already, with our attributes.
pub(super) fn of(session: &Session, present: Option<&str>) -> String {
    // Those of a session around this one are not its own.
    let others = present.unwrap_or_default().split(',').filter(|part| !part.is_empty() && !part.starts_with(PREFIX));
    let own = [
        ("task", session.task.as_ref().map(ToString::to_string)),
        ("lane", session.lane.as_ref().map(ToString::to_string)),
        ("session", Some(session.id.to_string())),
    ];
    let own = own.into_iter().filter_map(|(name, value)| Some(format!("{PREFIX}{name}={}", escape(&value?))));
    others.map(str::to_owned).chain(own).collect::<Vec<_>>().join(",")
}

/// A value in which commas, spaces and the like are escaped, as the specification has it.
fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}
