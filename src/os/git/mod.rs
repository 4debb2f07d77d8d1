//! The git program: called by argv with a fixed locale and a deadline. Programs that a repository's configuration names
//! (hooks, the fsmonitor) are switched off.

mod command;
mod commits;
mod diff;
mod exclude;
mod integrate;
mod reflog;
mod scratch;
mod state;
mod tracked;
mod worktree;

pub use command::{Git, GitError};
pub use diff::{ChangedFile, DiffFormat, WorktreeDiff};
pub use integrate::Integration;
pub use reflog::EarlierCommit;
pub use scratch::Scratch;
pub use state::ListedWorktree;
pub use worktree::Repository;
