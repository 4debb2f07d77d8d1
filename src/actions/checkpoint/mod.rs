//! What is done with checkpoints.

pub mod list;
pub mod record;
