//! Launching a session, step by step: the request, the plan, the program, the stored intent, the start itself with its
//! outcome, the steps after it, the confirmation, what became of the first prompt, and the rollback of a failed launch.

mod choice;
pub(crate) mod confirm;
mod environment;
pub mod first_prompt;
pub(crate) mod git_hooks;
pub mod hook_check;
pub(crate) mod intent;
pub(crate) mod last_output;
pub(crate) mod launch_lock;
pub(crate) mod notes;
pub(crate) mod outcome;
mod place;
pub mod plan;
pub(crate) mod post_start;
pub mod profile;
pub mod profile_args;
pub mod program;
pub mod provider_hooks;
pub mod purpose;
pub mod request;
mod resource_attributes;
pub(crate) mod rollback;
pub(crate) mod sandbox;
pub(crate) mod session_id;
pub mod start;
mod structured;
pub(crate) mod switch;
