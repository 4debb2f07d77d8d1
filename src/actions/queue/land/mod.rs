//! Landing: finished work goes into its base through the gates, on a tree that was checked, one landing at a time.

mod base;
mod candidate;
mod checks;
mod collisions;
mod finish;
mod readiness;
mod recovery;
mod report;
mod run;
mod schedule;
mod submodules;
mod unit;

pub use run::{LandRequest, is_at_work, land};
