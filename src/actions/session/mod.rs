//! What is done with sessions.

pub mod asking;
pub mod end;
mod endpoint;
pub mod event;
pub mod exited;
mod finish;
pub mod heartbeat;
pub mod launch;
pub mod life;
pub mod list;
pub mod look;
mod meant;
pub mod peek;
pub mod plan;
pub mod reconcile;
pub mod stop;
pub mod upsert;

pub use finish::finish;
