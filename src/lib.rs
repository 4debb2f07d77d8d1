//! Fairway runs many coding agents side by side on one repository.
//!
//! One SQLite store beside the code, one binary, no daemon. The modules stand on floors and import downwards only;
//! `tests/it/floors.rs` holds the table and checks it. Say a verb and you know its files:
//! `cli/task/claim.rs` → `actions/task/claim.rs` → `domain/task.rs` → `store/tasks.rs`.

pub mod actions;
pub mod adapters;
pub mod api;
pub mod api_client;
pub mod cli;
pub mod config;
pub mod domain;
pub mod env;
pub mod guard;
pub mod hooks;
pub mod os;
pub mod render;
pub mod store;
pub mod supervisor;
pub mod wire;
