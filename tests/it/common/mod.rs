//! What tests share.

pub mod cast;
pub mod invariants;
pub mod race;
pub mod world;

pub use world::World;
