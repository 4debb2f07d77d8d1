//! The store as a whole: what it is, and moving it between a file and a server.

pub mod config;
pub mod copy;
pub mod migrate;
pub mod restored;
pub mod show;
