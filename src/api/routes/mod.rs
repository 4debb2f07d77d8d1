//! The handlers, one file per route.

pub(super) mod ack;
pub(super) mod approvals;
pub(super) mod authorize;
pub(super) mod context;
pub(super) mod events;
pub(super) mod exec;
pub(super) mod health;
pub(super) mod identity;
pub(super) mod lifecycle;
pub(super) mod openapi;
pub(super) mod prompt;
pub(super) mod stream;
pub(super) mod telemetry;
