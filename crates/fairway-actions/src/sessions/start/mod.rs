//! Starting an agent on a task: the task is added when it is new, the lane when there is none, the task is claimed for the
//! session, and the session is launched. Relaunching a session that is over.

mod agent_program;
mod commands;
mod draft;
mod first_prompt;
pub mod relaunch;
mod request;
mod requested_task;
mod steps;
pub mod switch;
pub(crate) mod task_lane;

pub use agent_program::installed_providers;
pub(crate) use draft::provider_of;
pub use request::StartRequest;
pub use steps::{dry_run, start};
