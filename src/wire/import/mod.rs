//! Tasks on their way in: what other programs, people and our own export write, as records, each with its line.

mod format;
mod issue;
mod record;

use serde::Serialize;

pub use format::{ImportFormat, ParseError, RecordAtLine, parse};
pub use issue::{
    IgnoredKeyView, IssueError, IssueImportReport, IssueRecord, IssueResultView, REQUIRED_KEYS, parse_issues,
};
pub use record::{CheckRecord, LinkRecord, Record};

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ImportReport {
    /// How many tasks came in.
    pub imported: usize,
    /// How many were there already and stayed as they were.
    pub unchanged: usize,
    /// How many of those are different in the file.
    pub differing: usize,
    /// How many were left out: deleted there, or removed here.
    pub skipped: usize,
    /// How many of the imported ones are neither done nor cancelled.
    pub open: usize,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Tasks that are pointed at and are not here.
    pub absent: Vec<MissingDependencyView>,
    /// The fields of the file that have no place here.
    pub ignored: Vec<IgnoredFieldView>,
}

/// A link to a task that is not here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MissingDependencyView {
    /// The task with the link.
    pub task_id: String,
    /// The task that is not here.
    pub depends_on: String,
    /// The type of the link.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// A particular that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IgnoredFieldView {
    /// Whose.
    pub task_id: String,
    /// Which: a field, or a link's type.
    pub what: String,
    /// Its value, shortened.
    pub value: String,
}
