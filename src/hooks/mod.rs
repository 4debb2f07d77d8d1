//! The bridge to the vendors' hooks: their payloads in, their exact answers out, and between them the neutral moments of
//! `actions::hook`. What is special about a vendor stands here and nowhere else.

mod provider;

pub use provider::{Event, Provider, is_tool_moment};
