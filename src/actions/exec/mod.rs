//! What is done with background runs.

pub mod find;
pub mod note;
pub mod supervise;
