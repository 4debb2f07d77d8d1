//! Overlap: which live lanes change the same lines. Snapshots of worktrees are taken, git's own merge judges pairs of them, and
//! the sessions of a pair get one message.

mod merge_pairs;
mod record;
mod refresh;
mod view;
pub mod wait;
mod worktree_snapshots;

pub(crate) use record::record_rebase;
pub(crate) use refresh::objects;
pub use refresh::{Refreshed, Scope, refresh};
pub(crate) use view::commands;
pub use view::{Selection, view};
pub(crate) use worktree_snapshots::is_local;
pub use worktree_snapshots::snapshot_paths;
