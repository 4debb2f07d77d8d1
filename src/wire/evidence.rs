//! Evidence as a document.

use serde::Serialize;

use crate::domain::evidence::Evidence;

/// A record of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EvidenceView {
    /// Its number.
    pub id: i64,
    /// The task.
    pub task_id: String,
    /// The session that recorded it; null for a person.
    pub session_id: Option<String>,
    /// The kind; records of one kind supersede one another.
    pub kind: String,
    /// The result that it shows.
    #[cfg_attr(test, schemars(with = "crate::domain::evidence::EvidenceResult"))]
    pub result: &'static str,
    /// The command, as a person would type it.
    pub command: Option<String>,
    /// The command's exit code.
    pub exit_code: Option<i64>,
    /// How long the command ran, in milliseconds.
    pub duration_ms: Option<i64>,
    /// A file that belongs to it.
    pub artifact: Option<String>,
    /// The digest of the kept output or of the artifact, in hex.
    pub sha256: Option<String>,
    /// The commit that it speaks of; null when the tree was dirty.
    pub commit: Option<String>,
    /// A sentence.
    pub summary: Option<String>,
    /// Whether Fairway ran the command itself.
    pub observed: bool,
    /// When it was recorded.
    pub created_at: String,
}

impl From<&Evidence> for EvidenceView {
    fn from(record: &Evidence) -> Self {
        Self {
            id: record.id,
            task_id: record.task.to_string(),
            session_id: record.session.as_ref().map(ToString::to_string),
            kind: record.kind.clone(),
            result: record.result.as_str(),
            command: record.command.clone(),
            exit_code: record.exit_code,
            duration_ms: record.duration_ms,
            artifact: record.artifact.clone(),
            sha256: record.sha256.clone(),
            commit: record.commit.clone(),
            summary: record.summary.clone(),
            observed: record.observed,
            created_at: record.created_at.to_string(),
        }
    }
}

/// A record of evidence with its stored output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EvidenceDetailView {
    /// The record.
    #[serde(flatten)]
    pub record: EvidenceView,
    /// The task's check that it ran.
    pub check: Option<String>,
    /// The stored output; `None` for claimed evidence, and where it cannot be read.
    pub output: Option<EvidenceOutputView>,
    /// Why the stored output is not shown.
    pub output_error: Option<String>,
}

/// The end of a stored output, without control sequences, with secrets masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EvidenceOutputView {
    /// The lines.
    pub text: String,
    /// The number of lines before them.
    pub lines_left_out: usize,
    /// The size of the stored output.
    pub bytes: u64,
    /// Whether the file still has the digest of the record.
    pub is_unchanged: Option<bool>,
}
