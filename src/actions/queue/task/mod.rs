//! Tasks: add, edit, order, claim and finish them.

pub mod add;
pub mod block;
pub mod cancel;
pub mod claim;
mod claim_order;
pub mod claim_place;
pub mod claimed;
pub mod dep;
pub mod done;
pub mod edit;
pub(in crate::actions) mod event_text;
pub mod export;
pub mod import;
pub mod import_issues;
mod import_links;
mod import_record;
pub mod import_steps;
pub mod list;
mod open_reviews;
pub mod ready;
pub mod release;
pub mod remove;
pub mod reopen;
pub mod resume;
pub mod submit;
mod timeline;
pub(in crate::actions) mod transition;
pub(in crate::actions) mod validate;

pub use crate::actions::core::force_reason::ForceReason;
