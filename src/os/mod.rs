//! The operating system, Linux: users, hosts, files, locks, processes, waiting. Knows nothing of Fairway's nouns.

pub mod capture;
pub mod files;
pub mod host;
pub mod lock;
pub mod process;
pub mod program;
pub mod session;
pub mod terminal;
pub mod tree;
pub mod user;
pub mod wait;
pub mod wake;
