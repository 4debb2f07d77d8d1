//! Checkpoints: record and list the progress notes of a task.

mod insert;
pub mod list;
pub mod note;
pub mod record;

pub(crate) use insert::insert;
