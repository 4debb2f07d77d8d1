//! Overlap: which live lanes change the same lines. Worktrees are looked at as snapshots, pairs of them are judged by git's own
//! merge, and the sessions of a pair are told once.

mod judge;
mod look;
mod planned;
mod record;
mod refresh;
mod view;
pub mod wait;

pub(in crate::actions::queue) use look::is_local;
pub use look::snapshot_paths;
pub(in crate::actions::queue) use record::record_rebase;
pub(in crate::actions::queue) use refresh::objects;
pub use refresh::{Refreshed, Scope, refresh};
pub(in crate::actions) use view::commands;
pub use view::{Selection, view};
