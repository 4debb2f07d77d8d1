//! Launching a session, step by step: the request, the plan, the program, the record of the intent, the start itself with its
//! outcome, the steps after it, the record of the outcome, the first prompt's delivery, and the rollback of a failed launch.

mod choice;
mod environment;
mod failure;
pub mod first_prompt;
pub(crate) mod git_hooks;
pub mod hook_check;
pub(crate) mod launch_lock;
pub(crate) mod notes;
pub(crate) mod outcome;
pub mod plan;
pub(crate) mod post_start;
pub mod profile;
pub mod profile_args;
pub mod program;
pub mod provider_hooks;
pub mod purpose;
pub(crate) mod record;
pub mod request;
pub(crate) mod sandbox;
pub(crate) mod session_id;
pub mod start;
mod structured;
pub(crate) mod switch;
