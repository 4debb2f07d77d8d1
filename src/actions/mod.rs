//! Use cases: they join facts from the store and the system, ask the rules, and write. The only code that opens a write
//! transaction; nothing outside is called while one is open.

mod answer;
mod app;
pub mod approval;
pub mod backend;
pub mod checkpoint;
pub mod config;
pub mod events;
pub mod evidence;
pub mod exec;
pub mod explain;
pub mod failure;
pub mod fingerprint;
pub mod gates;
pub mod guard;
pub mod handoff;
pub mod hook;
pub mod lane;
pub mod lookup;
pub mod message;
mod path;
pub mod prime;
pub mod project;
pub mod prompt;
pub mod review;
pub mod runtime;
pub mod session;
pub mod sidecar;
pub mod task;
pub mod usage;
mod work;

pub use answer::Answer;
pub use app::{App, Request};
