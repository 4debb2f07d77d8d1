//! The task queue: tasks and lanes, with the checkpoints, evidence, handoffs and reviews of a task, and the gates that a task
//! must pass before `done`, merge and landing.

pub mod base_commit;
pub mod checkpoint;
pub(crate) mod claimants;
pub mod evidence;
pub mod gates;
pub mod handoff;
pub mod landed_here;
pub(crate) mod landing_unit;
pub mod lane;
pub mod readiness;
pub mod review;
pub mod task;
pub(crate) mod task_worktree;
