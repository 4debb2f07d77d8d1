//! What a command that changed something says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::errors;

/// The answer to a change: made inside its transaction, so that a repeat of the same `--request-id` gets the same one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The JSON document.
    pub document: Value,
    /// What changed, in one line.
    pub line: String,
    /// What `--quiet` prints.
    pub ids: Vec<String>,
    /// Notes for stderr. Stored answers of earlier versions call the key `remarks`.
    #[serde(rename = "remarks")]
    pub notes: Vec<String>,
}

impl Answer {
    /// An answer about one thing.
    ///
    /// # Errors
    /// When the document cannot be written as JSON.
    pub fn new(document: &impl Serialize, id: impl ToString, line: impl Into<String>) -> anyhow::Result<Self> {
        let document = serde_json::to_value(document).map_err(errors::internal)?;
        Ok(Self { document, line: line.into(), ids: vec![id.to_string()], notes: Vec::new() })
    }

    /// The same with a note.
    #[must_use]
    pub fn note(mut self, remark: impl Into<String>) -> Self {
        self.notes.push(remark.into());
        self
    }
}
