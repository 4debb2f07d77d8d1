//! Use cases: they join facts from the store and the system, ask the rules, and write. The only code that opens a write
//! transaction; nothing outside is called while one is open.

pub mod approval;
pub mod core;
pub mod guard;
pub mod hook;
pub mod jobs;
pub mod mail;
pub mod prime;
pub mod project;
pub mod prompt;
pub mod queue;
pub mod runtime;
pub mod session;
pub mod sidecar;
pub mod usage;

pub use core::answer::Answer;
pub use core::app::{App, Request};
