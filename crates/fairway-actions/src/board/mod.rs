//! The board: items that need a person, the activity of every lane, and the running jobs. One model for every surface that shows
//! it. It is read in one transaction, and updated by what has changed. Besides that it looks at `/proc`, at the output of
//! running jobs and at the state of lanes' setups. It runs no other program but git, and that only where another host has landed work.

mod cache;
mod changed_subjects;
mod day_costs;
mod facts;
mod jobs;
mod landing;
mod lane_needs;
pub mod list;
mod need;
mod questions;
mod refused_host;
mod reviewed_executables;
mod sent_back;
mod session_needs;
mod sessions;
mod shown_dialogs;
pub(crate) mod silent_hosts;
mod task_counts;
mod task_needs;
mod unfinished;
mod unread_decisions;
mod view;
mod watched_processes;

use anyhow::Result;

use crate::App;
use fairway_core::wire::BoardView;

pub use cache::BoardCache;
pub use watched_processes::WatchedProcess;

/// The board as it is now. `hook_providers` has the labels of the providers whose agents call hooks.
pub fn compose(app: &App, hook_providers: &[&str]) -> Result<BoardView> {
    BoardCache::default().compose(app, hook_providers)
}
