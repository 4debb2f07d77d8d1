//! The task queue: tasks and lanes, with the checkpoints, evidence, handoffs and reviews of a task, and the gates that a task
//! must pass before `done`, merge and landing.

pub mod checkpoint;
pub mod evidence;
pub mod gates;
pub mod handoff;
pub mod lane;
pub mod review;
pub mod task;
