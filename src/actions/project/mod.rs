//! What is done with a project as a whole.

pub mod init;
pub mod trust;
