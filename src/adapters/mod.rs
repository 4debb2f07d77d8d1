//! The exec session protocol from the caller's side: locate a script, call it with a deadline, classify what it did.
//! `plumbing` is what scripts call back for.

pub mod builtin_scripts;
mod call;
mod capabilities;
pub mod conformance;
mod environment;
mod error;
pub mod list;
mod operations;
pub mod plumbing;
pub mod readiness;
mod resolve_backend;
mod start_config;
pub mod tmux_panes;

pub use call::Adapter;
pub use capabilities::Capabilities;
pub use environment::{bare, names_ours, ours, state_folder};
pub use error::AdapterError;
pub use operations::Known;
pub use resolve_backend::{Backends, Located, Place, check, locate};
pub use start_config::{CopyFile, Report, StartConfig, Terminal};
