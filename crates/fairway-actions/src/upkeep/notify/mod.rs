//! Notifications: each item of "needs you" is sent to the sinks of the configuration, once per item and sink,
//! however many senders run.
//!
//! A sender claims an item in the store before it sends it and records the outcome afterwards. A sender that dies in between
//! leaves a claim with a lease: after it the item is sent again, so that it may come twice but is not lost.

mod document;
mod follow;
mod send;
mod sinks;
mod state;

pub use follow::{follow, send_in_background};
pub use send::{Outlets, SendReport, require_sinks, send_due, send_due_of};
pub use sinks::test;
pub use state::{given_up, state};
