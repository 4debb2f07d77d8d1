//! Handoffs: offer a task to another role or lane, and accept, decline, withdraw and list the offers.

pub mod accept;
mod bring_work;
mod claim_move;
pub mod create;
pub mod decline;
pub mod list;
mod state;
pub mod withdraw;
mod work;

pub(crate) use state::{insert, open_of_task, require_open};
