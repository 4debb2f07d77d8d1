//! Reviews: request, record, withdraw and list them.

mod default_domain;
pub mod list;
pub mod record;
pub mod request;
mod send_back;
mod state;
pub mod withdraw;
