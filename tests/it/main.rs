//! The one integration binary. Tests run the real binary in a world of their own; see `common/world.rs`.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::missing_panics_doc,
    clippy::format_push_string,
    reason = "a test starts processes, reads clocks and fails by panicking"
)]

mod adapters;
mod agents;
mod api;
mod approvals;
mod cli;
mod common;
mod docs;
mod exec;
mod floors;
mod guard;
mod help;
mod hooks;
mod hostile;
mod install;
mod model;
mod output;
mod power;
mod project;
mod prompt;
mod quickstart;
mod records;
mod runtime;
mod scripts;
mod sessions;
mod sidecar;
mod store;
mod storm;
mod tidy;
