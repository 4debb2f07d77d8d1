//! The base of all use cases: the context of a command, its answer and its errors, lookups, trust, and the changes of
//! messages, approval requests and sessions that several groups share. Core imports no other group.

pub(crate) mod answer;
pub mod app;
pub(crate) mod approval_state;
pub(crate) mod awaited_answer;
pub(crate) mod change_wait;
pub mod check_slot;
pub mod dead_session;
pub mod errors;
pub mod fingerprint;
pub(crate) mod idempotency;
pub mod inside_session;
pub(crate) mod landed_commits;
pub mod lane_env;
pub(crate) mod last_heard;
pub(crate) mod launch_event;
pub mod lookup;
pub(crate) mod message_state;
pub mod only;
pub mod open_store;
pub mod other_host;
pub(crate) mod parking_end;
pub mod progress;
pub mod sandbox_availability;
pub(crate) mod server_outage;
pub mod session_events;
pub(crate) mod session_overview;
pub(crate) mod session_process;
mod snapshot_after_write;
pub mod store_safety;
pub mod trust;
pub(crate) mod usage_limit;
pub(crate) mod work_sandbox;

/// The actor overrides the claimant with `--force --reason TEXT`. The reason goes into the event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForceReason {
    pub reason: String,
}
