//! What Fairway is made of: nouns and rules, the store, and what programs, files and git say.
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
