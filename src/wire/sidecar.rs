//! The report of a sidecar at its end, as a document.

use serde::Serialize;

/// The end of a sidecar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SidecarView {
    /// The session whose companion it was.
    pub session_id: String,
    /// Why it ended.
    pub reason: String,
    /// How many turns it read from the provider's record that were not known.
    pub turns: usize,
}
