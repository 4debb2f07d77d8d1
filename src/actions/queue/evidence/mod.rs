//! Evidence: add, produce by running a check, list and show.

pub mod add;
mod insert;
pub mod list;
pub mod run;
pub mod show;

pub(crate) use insert::insert;
