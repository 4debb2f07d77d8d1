//! Rules: pure functions from facts to a decision.

pub mod authority;
pub mod claim;
pub mod command;
pub mod cycle;
pub mod gate;
pub mod globs;
pub mod guard;
pub mod handoff;
pub mod health;
pub mod liveness;
pub mod prompt;
pub mod receipts;
pub mod recovery;
pub mod retention;
