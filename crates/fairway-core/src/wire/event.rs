//! An event as a document.

use serde::Serialize;
use serde_json::Value;

/// One line of the event stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EventView {
    /// Its number.
    pub seq: i64,
    /// When.
    pub at: String,
    /// The kind: `noun.verb`.
    pub kind: String,
    /// The task it happened to.
    pub task_id: Option<String>,
    /// The session it happened to, or that did it.
    pub session_id: Option<String>,
    /// That session's run.
    pub run_id: Option<String>,
    /// The lane it happened to.
    pub lane: Option<String>,
    /// The actor.
    pub actor: String,
    /// The particulars.
    pub data: Value,
}
