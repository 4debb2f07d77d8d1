//! What tests share.

pub mod again;
pub mod fill;
pub mod invariants;
pub mod race;
pub mod world;

pub use world::World;
