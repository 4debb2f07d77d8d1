//! The dependencies of a task and of those, as a document.

use serde::Serialize;

/// The dependencies below a task, flat, in the order of a walk: a node's children follow it one level deeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DepTreeView {
    /// The task at the top.
    pub task_id: String,
    /// The task itself and everything below it.
    pub nodes: Vec<DepNodeView>,
}

/// One place in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DepNodeView {
    /// The task here.
    pub task_id: String,
    /// How deep: 0 is the task at the top.
    pub depth: usize,
    /// The status; null when the task is not in the store.
    #[cfg_attr(test, schemars(with = "Option<crate::domain::task::TaskStatus>"))]
    pub status: Option<&'static str>,
    /// The title; null when the task is not in the store.
    pub title: Option<String>,
    /// Whether it stands further up already; what is below it is shown there.
    pub repeated: bool,
}
