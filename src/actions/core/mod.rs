//! TODO-DOC actions::core

pub(crate) mod answer;
pub(crate) mod app;
pub(crate) mod approval_state;
pub mod errors;
pub(crate) mod expire_for_session;
pub mod fingerprint;
pub mod keepalive;
pub mod lookup;
pub(crate) mod message_state;
pub(crate) mod path_limits;
pub(crate) mod task_worktree;
pub mod trust;
