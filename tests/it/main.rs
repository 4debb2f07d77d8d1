//! The one integration binary. Tests run the real binary in a project of their own; see `common/test_project.rs`.
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
mod advice;
mod agents;
mod api;
mod approvals;
mod cli;
mod comment_rules;
mod common;
mod compat;
mod docs;
mod exec;
mod git_files;
mod glossary;
mod guard;
mod help;
mod hook_install;
mod hooks;
mod hostile;
mod instruction_budget;
mod layers;
mod mcp;
mod model;
mod other_host;
mod output_failures;
mod overlap;
mod packaging;
mod plugins;
#[cfg(feature = "postgres")]
mod postgres;
mod power_loss;
mod project_discovery;
mod prompt;
mod quickstart;
mod records;
mod repository_rules;
mod runtime;
mod script_lints;
mod sessions;
mod sidecar;
mod store;
mod storm;
mod structured;
mod top;
