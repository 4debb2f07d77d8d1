//! What is done with sessions.

pub mod end;
pub mod finish;
pub mod heartbeat;
pub mod life;
pub mod list;
pub mod look;
pub mod reconcile;
pub mod upsert;
