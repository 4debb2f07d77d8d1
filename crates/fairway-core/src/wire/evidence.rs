//! Evidence as a document.

use serde::Serialize;

use crate::domain::evidence::Evidence;

/// A record of evidence with its stored output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct EvidenceDetailView {
    /// The record.
    #[serde(flatten)]
    pub record: Evidence,
    /// The task's check that it ran.
    pub check: Option<String>,
    /// The stored output; `None` for claimed evidence, and where it cannot be read.
    pub output: Option<EvidenceOutputView>,
    /// Why the stored output is not shown.
    pub output_error: Option<String>,
}

/// The end of a stored output, without control sequences, with secrets masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
