//! Tasks on their way in: what other programs, people and our own export write, as records, each with its line.

mod format;
mod issue;
mod record;

use serde::Serialize;

pub use format::{ImportFormat, ParseError, RecordAtLine, parse};
pub use issue::{IssueError, IssueImportReport, IssueRecord, IssueResultView, REQUIRED_KEYS, parse_issues};
pub use record::{CheckRecord, LinkRecord, Record};

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ImportReport {
    /// How many tasks came in.
    pub imported: usize,
    /// How many were there already and stayed as they were.
    pub unchanged: usize,
    /// How many of those are different in the file.
    pub differing: usize,
    /// How many were left out: deleted there, removed here, no work, or no task at all.
    pub skipped: usize,
    /// How many of the imported ones are neither done nor cancelled.
    pub open: usize,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Tasks that are pointed at and are not here.
    pub absent: Vec<MissingDependencyView>,
    /// What was left out: tasks, with the reason, and fields that have no place here.
    pub ignored: Vec<IgnoredFieldView>,
    /// The tasks that are blocked here, because the file says that they are not to be worked on now.
    pub blocked: Vec<BlockedTaskView>,
}

/// A task that came in blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct BlockedTaskView {
    /// Its id.
    pub task_id: String,
    /// Its status in the file, in the file's word.
    pub was: String,
    /// Why it is blocked here.
    pub reason: String,
}

/// A link to a task that is not here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct IgnoredFieldView {
    /// Whose; `line 7` for one without an id.
    pub task_id: String,
    /// Which: a field, a link's type, or `the task`.
    pub what: String,
    /// Its value, shortened; for a task the reason.
    pub value: String,
}
