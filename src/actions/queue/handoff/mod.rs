//! Handoffs: offer a task to another role or lane, and accept, decline, withdraw and list the offers.

pub mod accept;
pub mod create;
pub mod decline;
pub mod list;
mod state;
pub mod withdraw;

pub(crate) use state::{insert, require_open};
