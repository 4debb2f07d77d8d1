//! Why a task is not ready: its unfinished dependencies, and finished ones whose work is not here.

use super::{TaskId, status::TaskStatus};

/// One reason why a task is not ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReadyReason {
    /// The kind of obstacle, as a code: `dep_open`, `dep_cancelled`, `dep_absent`, `dep_elsewhere`.
    pub code: &'static str,
    /// The dependency.
    pub id: TaskId,
    pub message: String,
    /// The command that clears it, with its purpose: `fetch it: git fetch origin`.
    pub fix: Option<String>,
}

impl NotReadyReason {
    /// The reason for a dependency of this status (`None`: absent from the store); `None` when it is done.
    pub fn for_dependency(id: TaskId, status: Option<TaskStatus>) -> Option<Self> {
        let (code, message) = match status {
            Some(TaskStatus::Done) => return None,
            Some(TaskStatus::Cancelled) => ("dep_cancelled", format!("{id} was cancelled, so it will not be done")),
            Some(status) => ("dep_open", format!("{id} is {status}")),
            None => ("dep_absent", format!("{id} is not in this store")),
        };
        Some(Self { code, id, message, fix: None })
    }

    /// The reason for a dependency that landed on another host, with a commit that this host's base lacks.
    pub fn landed_elsewhere(id: TaskId, host: &str, short_commit: &str, fix: String) -> Self {
        let message = format!("{id} is landed on {host} as {short_commit}, not here");
        Self { code: "dep_elsewhere", id, message, fix: Some(fix) }
    }
}
