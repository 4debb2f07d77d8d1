//! The library below the use cases: nouns and rules, the store, and access to programs, files and git.
//!
//! Modules have layers and import only lower ones; `tests/it/layers.rs` has the table and checks it.

pub mod acp;
pub mod adapters;
pub mod api_client;
pub mod config;
pub mod domain;
pub mod env;
pub mod guard;
pub mod os;
pub mod render;
pub mod store;
pub mod supervisor;
pub mod wire;
