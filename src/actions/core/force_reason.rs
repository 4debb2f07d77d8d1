//! The reason of an override.

/// `--force --reason TEXT`: the actor overrides the claimant, and the reason goes into the event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForceReason {
    /// Why.
    pub reason: String,
}
