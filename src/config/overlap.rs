//! The settings of overlap.

use serde::Deserialize;

use super::values::{self, impl_word};
use crate::domain::string_enum::string_enum;

string_enum! {
    /// Whether overlaps are looked for while agents work: hooks look and the sessions of a pair are told, or only
    /// `fairway overlap` looks and no session is told.
    #[derive(Default)]
    OverlapAction { #[default] Tell => "tell", Off => "off" }
}

string_enum! {
    /// Whether recorded overlap changes the order of claims: it does not, or within a priority, tasks whose paths no other lane has
    /// changed come first.
    #[derive(Default)]
    ClaimOrder { #[default] Any => "any", Avoid => "avoid" }
}

impl_word!(OverlapAction, ClaimOrder);

/// The settings of overlap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct OverlapSettings {
    /// Whether overlaps are looked for while agents work.
    #[serde(deserialize_with = "values::word")]
    pub action: OverlapAction,
    /// Whether they change the order of claims.
    #[serde(deserialize_with = "values::word")]
    pub claims: ClaimOrder,
}
