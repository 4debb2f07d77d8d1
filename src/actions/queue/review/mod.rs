//! Reviews: request, record, withdraw and list them, and show the next card.

mod changes;
pub mod comments;
mod default_domain;
pub mod list;
pub(in crate::actions) mod memory;
pub mod next;
pub mod record;
pub mod request;
mod send_back;
mod state;
pub mod withdraw;
