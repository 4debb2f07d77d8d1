//! Fairway runs many coding agents side by side on one repository.
//!
//! One store (a SQLite file beside the code, or a PostgreSQL schema), one binary, no daemon. Modules have layers and import only lower ones;
//! `tests/it/layers.rs` has the table and checks it. A command is found by its name:
//! `src/cli/task/add.rs` → `crates/fairway-actions/src/queue/task/add.rs` → `crates/fairway-core/src/domain/task.rs` and
//! `crates/fairway-core/src/store/tasks/write.rs`.

pub mod api;
pub mod cli;
pub mod hooks;
pub mod mcp;
