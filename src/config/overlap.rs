//! The settings of overlap.

use serde::Deserialize;

use super::values::unknown_value;

/// Whether overlaps are looked for while agents work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OverlapAction {
    /// Hooks look, and the sessions of a pair are told.
    #[default]
    Tell,
    /// Only `fairway overlap` looks, and no session is told.
    Off,
}

/// Whether recorded overlap changes the order of claims.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClaimOrder {
    /// It does not.
    #[default]
    Any,
    /// Within a priority, tasks whose paths no other lane has changed come first.
    Avoid,
}

/// The settings of overlap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OverlapSettings {
    /// Whether overlaps are looked for while agents work.
    pub action: OverlapAction,
    /// Whether they change the order of claims.
    pub claims: ClaimOrder,
}

/// The table as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raw {
    action: Option<String>,
    claims: Option<String>,
}

impl Raw {
    /// The settings; a key and why it is invalid.
    pub(super) fn into_settings(self) -> Result<OverlapSettings, (&'static str, String)> {
        let action = match self.action.as_deref() {
            None | Some("tell") => OverlapAction::Tell,
            Some("off") => OverlapAction::Off,
            Some(word) => return Err(("overlap.action", unknown_value(word, &["tell", "off"]))),
        };
        let claims = match self.claims.as_deref() {
            None | Some("any") => ClaimOrder::Any,
            Some("avoid") => ClaimOrder::Avoid,
            Some(word) => return Err(("overlap.claims", unknown_value(word, &["any", "avoid"]))),
        };
        Ok(OverlapSettings { action, claims })
    }
}
