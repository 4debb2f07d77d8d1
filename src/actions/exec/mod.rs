//! What is done with background runs.

pub mod find;
