//! Reports about a session: registration, heartbeat, provider events, telemetry, the end.

pub(crate) mod context_threshold;
pub mod end;
pub mod heartbeat;
pub mod idle_screen;
mod local_host;
pub(crate) mod own_program;
pub mod provider_event;
pub(crate) mod resolve_session;
pub(crate) mod screen_dialog;
pub(crate) mod shown_idle;
pub mod telemetry;
pub(crate) mod turn_end;
pub mod upsert;
