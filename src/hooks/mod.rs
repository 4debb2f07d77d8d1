//! The bridge to the vendors' hooks: their payloads in, their exact answers out, and between them the neutral moments of
//! `actions::hook`. The only place in the program that knows one provider from another.

mod claude;
mod codex;
pub mod doctor;
mod gemini;
mod house;
pub mod install;
mod payload;
mod provider;
mod quick;
mod run;
pub mod transcripts;
mod wait;

pub use provider::{Event, Provider, is_tool_moment};
pub use run::{CANARY, Call, early, run};
pub use wait::wait;
