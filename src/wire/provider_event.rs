//! The effects of a provider's event as a document.

use serde::Serialize;

use super::SessionView;
use crate::domain::{checkpoint::Checkpoint, evidence::Evidence, handoff::Handoff};

/// The answer to `session event`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProviderEventView {
    /// The state that was reported, in our spelling.
    #[cfg_attr(test, schemars(with = "crate::domain::provider_event::ProviderState"))]
    pub state: &'static str,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Whether the session is a new one.
    pub created: bool,
    /// The session, as it is now, or would be.
    pub session: SessionView,
    /// The checkpoint that was recorded; a dry run records none.
    pub checkpoint: Option<Checkpoint>,
    /// The evidence that was recorded, likewise.
    pub evidence: Option<Evidence>,
    /// The handoff that was made, likewise.
    pub handoff: Option<Handoff>,
    /// The effects, done or only planned, in words.
    pub effects: Vec<String>,
}
