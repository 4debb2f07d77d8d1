//! Why a task is not ready: its unfinished dependencies, and finished ones whose work is not here.

use serde::Serialize;

use super::{TaskId, status::TaskStatus};

/// One thing that a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Waiting"))]
pub struct NotReadyReason {
    /// `dep_open`, `dep_cancelled`, `dep_absent` or `dep_elsewhere`; in `ready --why` also `held` and `review_full`.
    pub code: &'static str,
    /// The dependency; for the other codes the task itself.
    pub id: TaskId,
    /// A sentence.
    pub message: String,
    /// The command that clears it, with its purpose: `fetch it: git fetch origin`.
    #[serde(skip)]
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
