//! `work`: keeping places full of agents.

mod landing;
mod look;
mod request;
mod run;

pub use request::WorkRequest;
pub use run::{WorkEnd, work};
