//! Fairway runs many coding agents side by side on one repository.
//!
//! One store (a SQLite file beside the code, or a PostgreSQL schema), one binary, no daemon. Modules have layers and import only lower ones;
//! `tests/it/layers.rs` has the table and checks it. A command is found by its name:
//! `cli/task/add.rs` → `actions/queue/task/add.rs` → `domain/task.rs` → `store/tasks/write.rs`.

pub mod acp;
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
pub mod mcp;
pub mod os;
pub mod render;
pub mod store;
pub mod supervisor;
pub mod wire;
