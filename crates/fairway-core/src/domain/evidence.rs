//! Evidence: what shows that a task is done. Observed when Fairway ran the command itself, claimed otherwise.

use serde::Serialize;

use super::string_enum::string_enum;
use super::{SessionId, TaskId};
use crate::env::Timestamp;

string_enum! {
    /// The result that it shows.
    EvidenceResult {
        Pass => "pass",
        Fail => "fail",
        Partial => "partial",
        Skipped => "skipped",
        Blocked => "blocked",
    }
}

/// The kind of evidence that a provider's own word has; no gate counts it.
pub const PROVIDER_KIND: &str = "provider";
/// The kind of evidence of a check on the tree that a landing would bring; no gate counts it.
pub const LANDING_KIND: &str = "landing";
/// The kind of evidence that was given none.
pub const DEFAULT_KIND: &str = "test";

/// A record of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Its number.
    pub id: i64,
    /// The task.
    #[serde(rename = "task_id")]
    pub task: TaskId,
    /// The session that recorded it; null for a person.
    #[serde(rename = "session_id")]
    pub session: Option<SessionId>,
    /// The kind; records of one kind supersede one another.
    pub kind: String,
    /// The result that it shows.
    pub result: EvidenceResult,
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
    pub created_at: Timestamp,
    /// The task's check that it ran.
    #[serde(skip)]
    pub check: Option<String>,
}
