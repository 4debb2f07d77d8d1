//! What is done with sessions.

mod adapter_endpoint;
pub mod control;
mod finish;
pub mod launch;
pub mod list;
pub mod liveness;
pub mod prompt;
pub mod report;
pub mod sidecar;

pub use finish::finish;
