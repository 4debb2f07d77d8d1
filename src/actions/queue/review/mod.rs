//! Reviews: request, record and list them.

pub mod list;
pub mod record;
pub mod request;
mod state;
