//! Hooks of the providers: parses their payloads into the neutral hook events of `actions::agents::hook`, and prints replies in
//! their exact form. Only this module knows the providers' differences.

mod call;
mod dispatch;
pub mod doctor;
mod git_hook;
mod git_wrapper;
pub mod install;
mod launch;
mod launch_entry;
mod payload;
mod prompt_delivery;
mod provider;
mod providers;
mod server_decision;
pub mod transcripts;
mod worktree_lane;

pub use call::HookCall;
pub use dispatch::{CANARY, fast_path, is_of_git, run_hook};
pub use launch::LAUNCH_HOOKS;
pub use launch_entry::BY_LAUNCH;
pub use prompt_delivery::run_wake_hook;
pub use provider::{EventSpec, Provider, is_tool_event};
