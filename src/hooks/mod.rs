//! The bridge to the vendors' hooks: their payloads in, their exact answers out, and between them the neutral moments of
//! `actions::hook`. The only place in the program that knows one provider from another.

mod claude;
mod codex;
mod context;
mod dispatch;
pub mod doctor;
mod gemini;
pub mod install;
mod payload;
mod provider;
pub mod transcripts;
mod via_server;
mod wake_hook;

pub use dispatch::{CANARY, Call, early, run};
pub use provider::{Event, Provider, is_tool_moment};
pub use wake_hook::wait;
