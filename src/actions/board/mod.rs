//! The board: what needs a person, what every lane does, which jobs run. One model for every surface that shows it. It is
//! read in one transaction, and composed anew from what has changed. Besides that it looks at `/proc` and at the output of running
//! jobs. It asks no other program but git, and that only where another host has landed work.

mod approval;
mod approved_later;
mod blocked;
mod cache;
mod changed_subjects;
mod claimant;
mod day_costs;
mod facts;
mod guard;
mod handoff;
mod jobs;
mod landing;
mod lanes;
mod need;
mod overlap;
mod program;
mod prompt;
mod question;
mod refused;
mod refused_host;
mod runs_later;
mod sent_back;
mod sessions;
mod shared_base;
mod silent_host;
pub(in crate::actions) mod silent_hosts;
mod submitted;
mod task_counts;
mod view;
mod watches;

use anyhow::Result;

use crate::{actions::App, wire::BoardView};

pub use cache::BoardCache;
pub use watches::WatchedProcess;

/// Composes the board once. `hook_providers` are the labels of the providers whose agents call hooks.
pub fn compose(app: &App, hook_providers: &[&str]) -> Result<BoardView> {
    BoardCache::default().compose(app, hook_providers)
}
