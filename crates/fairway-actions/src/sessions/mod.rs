//! Sessions: launch, control, liveness, reports, prompts and the sidecar.

pub mod activity_history;
pub mod actor;
mod adapter_endpoint;
pub mod answer;
pub mod attendance;
pub mod budget;
pub mod claim;
pub mod control;
mod give_up;
pub mod hand_started;
pub mod launch;
pub mod list;
pub mod liveness;
mod new_id;
pub mod parking;
pub mod prompt;
pub mod release;
pub mod reminder;
pub mod report;
pub mod resumption;
pub mod sandbox;
pub mod sidecar;
pub mod start;
