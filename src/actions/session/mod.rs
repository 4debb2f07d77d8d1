//! What is done with sessions.

pub mod asking;
pub mod attach;
mod confirm;
pub mod end;
mod endpoint;
pub mod event;
pub mod exited;
mod finish;
mod first_steps;
pub mod gone;
pub mod heartbeat;
mod inside;
mod intention;
pub mod interrupt;
pub mod launch;
pub mod life;
pub mod list;
pub(in crate::actions) mod live;
pub mod look;
mod meant;
pub mod meta;
pub mod next;
pub mod nudge;
pub mod peek;
pub mod plan;
pub mod program;
pub mod reconcile;
pub mod report;
mod screen;
pub mod stop;
mod undo;
pub mod upsert;

pub use finish::finish;
