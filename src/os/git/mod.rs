//! The git program: called by argv with a fixed locale and a deadline. Programs that a repository's configuration names
//! (hooks, the fsmonitor) are switched off.

mod command;
mod commits;
mod tracked;
mod worktree;

pub use command::{Git, GitError};
pub use worktree::Repository;
