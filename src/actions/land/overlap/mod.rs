//! Overlap: which live lanes change the same lines. Worktrees are looked at as snapshots, pairs of them are judged by git's own
//! merge, and the sessions of a pair are told once.

mod merge_pairs;
mod record;
mod refresh;
mod view;
pub mod wait;
mod worktree_snapshots;

pub(in crate::actions) use record::record_rebase;
pub(in crate::actions) use refresh::objects;
pub use refresh::{Refreshed, Scope, refresh};
pub(in crate::actions) use view::commands;
pub use view::{Selection, view};
pub(in crate::actions) use worktree_snapshots::is_local;
pub use worktree_snapshots::snapshot_paths;
