//! TODO-DOC actions::queue

pub mod checkpoint;
pub mod evidence;
pub mod gates;
pub mod handoff;
pub mod lane;
pub mod review;
pub mod task;
