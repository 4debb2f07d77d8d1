//! Overlap: which live lanes change the same lines. Worktrees are looked at as snapshots, pairs of them are judged by git's own
//! merge, and the sessions of a pair are told once.

mod judge;
mod look;
mod planned;
mod record;
mod refresh;
mod view;
pub mod wait;

pub use look::snapshot_paths;
pub use refresh::{Refreshed, Scope, refresh};
pub(in crate::actions) use view::commands;
pub use view::{Selection, view};
