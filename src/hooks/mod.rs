//! The bridge to the vendors' hooks: their payloads in, their exact answers out, and between them the neutral moments of
//! `actions::hook`. The only place in the program that knows one provider from another.

mod call;
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

pub use dispatch::{CANARY, HookCall, fast_path, run_hook};
pub use provider::{EventSpec, Provider, is_tool_event};
pub use wake_hook::run_wake_hook;
