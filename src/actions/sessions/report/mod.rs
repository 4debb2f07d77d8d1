//! TODO-DOC actions::sessions::report

pub mod activity;
pub(crate) mod context_threshold;
pub mod end;
pub mod heartbeat;
pub mod provider_event;
pub(crate) mod resolve_session;
pub mod telemetry;
pub mod upsert;
