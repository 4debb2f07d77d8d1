//! The bridge to the vendors' hooks: their payloads in, their exact answers out, and between them the neutral moments of
//! `actions::hook`. The only place in the program that knows one provider from another.

pub mod doctor;
pub mod install;
mod provider;
pub mod transcripts;

/// The tool that is always denied: `doctor hooks` sees by it whether a hook holds.
pub const CANARY: &str = "fairway-canary";

pub use provider::{Event, Provider, is_tool_moment};
