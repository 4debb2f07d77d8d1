//! Approvals: permission requests of providers, in one list over all sessions. An answer reaches the provider as long as its
//! hook waits.

mod answer;
mod common;
mod list;
mod request;
mod wait;
mod watch;
mod withdraw;

pub use crate::actions::core::approval_state::{ALWAYS_FIELD, expire_pending};
pub use answer::answer;
pub use list::list;
pub use request::request;
pub use wait::{ApprovalDecision, ApprovalWait, wait, wait_for_person};
pub use watch::{ApprovalChange, watch};
pub use withdraw::withdraw;
