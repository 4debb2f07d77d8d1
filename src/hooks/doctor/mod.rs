//! Whether installed hooks hold: a call that must be denied is sent through each of them, as its vendor would, and it is said
//! whether the vendor would have blocked it.

mod block_semantics;
mod canary;
mod check;
mod codex_trust;

pub use block_semantics::{HookOutput, would_block};
pub use check::{DoctorContext, doctor};
