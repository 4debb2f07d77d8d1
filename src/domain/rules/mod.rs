//! Rules: pure functions from facts to a decision.

pub mod aliveness;
pub mod answering;
pub mod claim;
pub mod command_line;
pub mod consequences;
pub mod cycle;
pub mod delivery;
pub mod fencing;
pub mod gate;
pub mod globs;
pub mod handoff;
pub mod health;
pub mod initial_prompt;
pub mod landing_batch;
pub mod landing_order;
pub mod liveness;
pub mod notifications;
pub mod open_question;
pub mod overlap;
pub mod recovery;
pub mod retention;
pub mod review_capacity;
pub mod screen;
pub mod screen_question;
pub mod task_times;
pub mod waiting;
