//! The operating system, Linux: users, hosts, files, locks, processes, waiting. Knows nothing of Fairway's nouns.

pub mod alarm;
pub mod below;
pub mod capture;
pub mod disk;
pub mod exec;
pub mod fifo;
pub mod files;
pub mod git;
pub mod hidden;
pub mod host;
pub mod kept;
pub mod lock;
pub mod process;
pub mod program;
pub mod pty;
pub mod queue;
pub mod session;
pub mod signals;
pub mod socket;
pub mod stream;
pub mod terminal;
pub mod tree;
pub mod user;
pub mod wait;
pub mod wake;
pub mod watch;
