//! Tasks: add, edit, order, claim and finish them.

pub mod add;
pub mod claim;
mod claim_order;
pub mod claim_place;
pub mod claimed_task;
pub mod dep;
pub mod done;
pub mod edit;
mod handed_in;
pub mod import;
pub mod import_issues;
mod import_record;
pub mod import_steps;
pub mod list;
mod open_reviews;
pub mod ready;
pub mod release;
pub mod remove;
pub(crate) mod timeline;
pub mod transition;
pub mod undo;
pub(crate) mod validate;

pub use crate::core::ForceReason;
