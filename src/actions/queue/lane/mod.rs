//! Lanes: add, edit, list, open, pause, close and remove them, with their worktrees.

pub mod add;
pub mod edit;
pub mod list;
mod patch;
pub mod rm;
pub mod status;
pub(crate) mod worktree;

pub use patch::LanePatch;
