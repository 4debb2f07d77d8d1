//! The settings of overlap.

use super::{section::section, values::impl_word};
use crate::domain::string_enum::string_enum;

string_enum! {
    /// Whether overlaps are looked for while agents work: hooks look and the sessions of a pair are told, or only
    /// `fairway overlap` looks and no session is told.
    OverlapAction { Tell => "tell", Off => "off" }
}

string_enum! {
    /// Whether recorded overlap changes the order of claims: it does not, or within a priority, tasks whose paths no other lane has
    /// changed come first.
    ClaimOrder { Any => "any", Avoid => "avoid" }
}

impl_word!(OverlapAction, ClaimOrder);

section! {
    /// The settings of overlap.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct OverlapSettings {
        /// Overlap between lanes: tell (hooks look for it, and the sessions of a pair are told) or off.
        pub action: OverlapAction = "tell",
        /// avoid: within a priority, claim first offers tasks whose paths no other lane has changed; any: as before.
        pub claims: ClaimOrder = "any",
    }
}
