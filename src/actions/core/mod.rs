//! TODO-DOC actions::core

pub(crate) mod answer;
pub(crate) mod app;
pub mod errors;
pub mod lookup;
pub(crate) mod path_limits;
pub(crate) mod task_worktree;
pub mod trust;
