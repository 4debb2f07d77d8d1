//! Use cases of sessions.

mod endpoint;
pub mod exited;
pub mod finish;
pub mod launch;
pub mod peek;
pub mod plan;
pub mod stop;

pub use finish::finish;
