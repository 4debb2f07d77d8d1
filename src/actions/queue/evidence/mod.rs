//! Evidence: add, produce by running a check, and list.

pub mod add;
mod insert;
pub mod list;
pub mod run;

pub(crate) use insert::insert;
