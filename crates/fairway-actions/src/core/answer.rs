//! The answer of a command that changes something.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::errors;

/// The answer to a change. It is made in the change's transaction and stored under the `--request-id`, so that a repeat
/// gets the same answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub document: Value,
    pub line: String,
    /// The ids that `--quiet` prints.
    pub ids: Vec<String>,
    /// Notes for stderr. Answers that an earlier version stored have them under an older name.
    #[serde(rename = "remarks")]
    pub notes: Vec<String>,
}

impl Answer {
    /// `id` is printed with `--quiet`. `line` describes the change in one line.
    pub fn new(document: &impl Serialize, id: impl ToString, line: impl Into<String>) -> anyhow::Result<Self> {
        let document = serde_json::to_value(document).map_err(errors::internal)?;
        Ok(Self { document, line: line.into(), ids: vec![id.to_string()], notes: Vec::new() })
    }

    /// Adds notes for the person in the order in which they come.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}
