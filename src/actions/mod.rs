//! Use cases: they join facts from the store and the system, ask the rules, and write. The only code that opens a write
//! transaction; nothing outside is called while one is open.

mod answer;
mod app;
pub mod config;
pub mod events;
pub mod failure;
pub mod lane;
pub mod lookup;
pub mod project;
pub mod task;

pub use answer::Answer;
pub use app::{App, Request};
