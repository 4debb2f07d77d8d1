//! What tests share.

pub mod again;
pub mod app;
pub mod cast;
pub mod codes;
pub mod fill;
pub mod footprint;
mod git;
pub mod invariants;
pub mod models;
pub mod mount;
pub mod npm;
pub mod race;
pub mod require;
pub mod scratch;
pub mod soak;
pub mod verbs;
pub mod world;

pub use world::World;
