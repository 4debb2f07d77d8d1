//! Messages to sessions, lanes and roles: send, read, list and withdraw.

mod format;
pub mod inbox;
pub mod outbox;
pub mod prompt_wait;
pub mod send;

pub use format::{format_messages, is_by_person};
