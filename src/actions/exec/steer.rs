//! Steering: what happened in a background run is told to the session that asked for it.
//!
//! An event that owes a message says so when it is written, in the same transaction. [`deliver`] puts the message into the
//! store, unless there is one of its key already, and marks the event after. Killed in between, the next call finds the
//! message and only marks: each is told once. What could not be told, as when the store was busy, stays owed; a supervisor
//! calls again with its next batch and at its end, and whoever recovers calls [`deliver_all`].

use serde_json::json;

use crate::domain::run::{Ending, ExecRun, RunId, RunStatus};

/// Where these messages say they come from: a program, never the user.
pub const SOURCE: &str = "exec";

/// The key of a message about a run. What is a key already stays one.
#[must_use]
pub fn key(run: &RunId, suffix: &str) -> String {
    let start = format!("{SOURCE}:{run}:");
    if suffix.starts_with(&start) { suffix.to_owned() } else { format!("{start}{suffix}") }
}

/// The event of a run's end: its text, its particulars as JSON text, and the key of the message that it owes. Whoever
/// waited for the end knows it already.
#[must_use]
pub fn end_event(run: &ExecRun, ending: &Ending) -> (String, String, Option<String>) {
    let how = match (ending.exit_code, ending.signal) {
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, Some(signal)) => Some(format!("signal {signal}")),
        (None, None) => None,
    };
    let why = match (how, ending.error_message.as_deref()) {
        (Some(how), Some(message)) => Some(format!("{message} ({how})")),
        (how, message) => how.or(message.map(str::to_owned)),
    };
    let word = ending.status.as_str().replace('_', " ");
    let payload = match why {
        Some(why) if ending.status != RunStatus::Succeeded => format!("{word}: {why}"),
        _ => word,
    };
    let meta = json!({
        "event": "end", "status": ending.status.as_str(), "exit_code": ending.exit_code, "signal": ending.signal,
        "attempt": run.attempt,
    });
    let owes = (run.background && run.session.is_some()).then(|| key(&run.id, "end"));
    (payload, meta.to_string(), owes)
}
