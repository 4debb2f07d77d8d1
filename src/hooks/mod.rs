//! The bridge to the vendors' hooks: their payloads in, their exact answers out, and between them the neutral moments of
//! `actions::hook`. The only place in the program that knows one provider from another.

pub mod install;
mod provider;
pub mod transcripts;

pub use provider::{Event, Provider, is_tool_moment};
