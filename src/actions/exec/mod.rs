//! What is done with background runs.

pub mod call;
pub mod direct;
pub mod find;
pub mod note;
pub mod supervise;
