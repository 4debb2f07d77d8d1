//! Shared parts of tests.

pub mod agent_programs;
pub mod app;
pub mod bulk_tasks;
pub mod command_table;
pub mod concurrent_start;
pub mod error_codes;
pub mod fixtures;
mod git;
#[cfg(feature = "postgres")]
pub mod git_http;
pub mod import_graph;
pub mod invariants;
pub mod json_schema;
pub mod mock_models;
pub mod mount;
pub mod populated_project;
#[cfg(feature = "postgres")]
pub mod postgres_proxy;
#[cfg(feature = "postgres")]
pub mod postgres_server;
pub mod published_schemas;
pub mod reexec;
pub mod require;
pub mod rust_files;
pub mod scratch;
pub mod soak;
pub mod store_watch;
pub mod terminal;
pub mod test_project;
pub mod tree_snapshot;
#[cfg(feature = "postgres")]
pub mod unsteady_network;
pub mod webdriver;

pub use test_project::TestProject;
