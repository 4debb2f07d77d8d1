//! Use cases: they join facts from the store and the system, ask the rules, and write. The only code that opens a write
//! transaction; nothing outside is called while one is open.

pub mod agents;
pub mod board;
pub mod core;
pub mod jobs;
pub mod land;
pub mod mail;
pub mod queue;
pub mod sessions;
pub mod upkeep;

pub use core::answer::Answer;
pub use core::app::App;
pub use core::idempotency::IdempotencyKey;
