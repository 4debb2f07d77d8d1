//! A hit of a search as a document.

use crate::domain::search::SearchKind;
use serde::Serialize;

/// A hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SearchHitView {
    /// `task`, `checkpoint`, `evidence`, `handoff`, `review`, `message` or `transcript`.
    pub kind: SearchKind,
    /// The id of the task or the number of the record; of a transcript the session's id.
    pub id: String,
    /// The task that it is about.
    pub task_id: Option<String>,
    /// The session that wrote it, or to which it was sent.
    pub session_id: Option<String>,
    /// The lane of that task or session.
    pub lane: Option<String>,
    /// The author, as far as the record names one.
    pub actor: Option<String>,
    /// The time of the record; of a task that of its last change.
    pub at: String,
    /// The field with the match, such as `body`.
    pub field: String,
    /// The text around the first match, on one line, with secrets masked.
    pub excerpt: String,
    /// The first character of the match in the excerpt.
    pub match_start: usize,
    /// The character behind the match in the excerpt.
    pub match_end: usize,
    /// The file of a transcript.
    pub path: Option<String>,
    /// The line in that file.
    pub line: Option<u64>,
}
