//! The exec session protocol from the caller's side: locate a script, call it with a deadline, classify what it did.
//! `plumbing` is what scripts call back for.

pub mod builtin;
mod call;
mod environment;
mod error;
mod locate;
pub mod plumbing;
mod start;

pub use call::{Adapter, Known};
pub use environment::{OURS, bare, names_ours, state_folder};
pub use error::AdapterError;
pub use locate::{Located, Place, check, locate};
pub use start::{Report, StartConfig};
