//! What tests share.

mod git;
pub mod invariants;
pub mod race;
pub mod verbs;
pub mod world;

pub use world::World;
