//! `doctor hooks`: runs each installed hook as its provider would, with a tool call that must be denied, and reports whether the
//! provider would have blocked the call.

mod canary;
mod check;
pub(super) mod codex_trust;
mod version;
mod worktree;

pub use check::{DoctorContext, LaneWorktree, doctor};
pub use worktree::{MissingHooks, missing};
