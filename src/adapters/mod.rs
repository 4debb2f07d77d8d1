//! The exec session protocol from the caller's side: locate a script, call it with a deadline, classify what it did.
//! `plumbing` is what scripts call back for.

pub mod builtin;
mod call;
mod capabilities;
pub mod conformance;
mod environment;
mod error;
pub mod list;
mod locate;
mod operations;
pub mod plumbing;
pub mod ready;
mod start;
pub mod tmux;

pub use call::Adapter;
pub use capabilities::Capabilities;
pub use environment::{bare, names_ours, ours, state_folder};
pub use error::AdapterError;
pub use locate::{Backends, Located, Place, check, locate};
pub use operations::Known;
pub use start::{CopyFile, Report, StartConfig, Terminal};
