//! The input of `work`.

use crate::sessions::start::StartRequest;
use fairway_core::domain::rules::work::Plan;

/// What a person has asked for, and how each task starts.
#[derive(Debug, Clone)]
pub struct WorkRequest {
    pub plan: Plan,
    pub start: StartRequest,
}
