//! Landing: finished work goes into its base through the gates, on a tree that was checked, one landing at a time.

mod base;
mod candidate;
mod cause;
mod check_commands;
mod check_worker;
mod checks;
mod dry_run;
mod finish;
mod lane_conflicts;
mod lock;
mod locked_land;
mod next_step;
pub mod overlap;
mod parallel_checks;
mod pass;
mod pause;
mod recovery;
mod regenerate;
mod report;
mod request;
mod run;
mod schedule;
mod send_back;
mod sent_back;
pub(in crate::actions) mod shared_base;
mod show;
mod upstream;

pub use check_worker::run_checks;
pub use lock::is_at_work;
pub use pause::{LandPause, pause, paused, resume};
pub use request::LandRequest;
pub use run::land;
pub use show::show;
pub use upstream::{MayPush, UpstreamUse};
