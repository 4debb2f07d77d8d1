//! The scripts that start sessions, and what they call back for. Works without any project.

pub mod check;
pub mod list;
pub mod place;
pub mod plumbing;
pub mod server;
pub mod typing;
