//! Approvals: permission requests of providers, in one list over all sessions. An answer reaches the provider as long as its
//! hook waits.

mod answer;
mod request;
mod wait;

pub use crate::core::approval_state::{ALWAYS_FIELD, expire_pending};
pub use crate::core::awaited_answer::AwaitedAnswer;
pub use answer::answer;
pub use request::{Waits, list, request, withdraw};
pub use wait::{ApprovalChange, ApprovalDecision, ApprovalWait, wait, wait_for_person, watch};
