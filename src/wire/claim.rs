//! The answers to a claim and a release as documents.

use serde::Serialize;

use super::TaskView;

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClaimedView {
    /// The task, with the claim.
    pub task: TaskView,
    /// How the claim came about: `fresh`, `expired`, `stolen`, `continued` or `handed_over`. The renewal of a claim omits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub takeover: Option<&'static str>,
    /// The previous claimant; null without one. The renewal of a claim omits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Option<String>>,
}

impl ClaimedView {
    /// The answer to the renewal of a claim.
    pub const fn renewed(task: TaskView) -> Self {
        Self { task, takeover: None, from: None }
    }
}

/// The answer to a release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReleasedView {
    /// The tasks, without their claims.
    pub tasks: Vec<TaskView>,
}

/// The tasks that were removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RemovedTasksView {
    /// The tasks, as they were.
    pub removed: Vec<TaskView>,
}
