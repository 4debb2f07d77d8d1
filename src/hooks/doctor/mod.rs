//! `doctor hooks`: runs each installed hook as its provider would, with a tool call that must be denied, and reports whether the
//! provider would have blocked the call.

mod block_semantics;
mod canary;
mod check;
pub(super) mod codex_trust;

pub use block_semantics::{HookOutput, would_block};
pub use check::{DoctorContext, doctor};
