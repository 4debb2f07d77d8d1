//! Bubblewrap: whether it can make a sandbox here, and the filter of system calls that it is given.

mod bubblewrap;
mod filter;
mod typing;

pub use bubblewrap::{Blocker, Bubblewrap, Unavailable};
pub use filter::Filter;
pub use typing::type_into_new_terminal;
