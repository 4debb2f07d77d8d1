//! Sections of the context that an agent gets.

use crate::domain::string_enum::string_enum;

string_enum! {
    /// The detail of a context.
    Mode {
        Full => "full",
        Compact => "compact",
        /// After a compaction: recent checkpoints instead of full details.
        Resume => "resume",
    }
}

string_enum! {
    /// The kinds of sections, in their order.
    SectionKind {
        Role => "role",
        Work => "work",
        Mail => "mail",
        Checkpoint => "checkpoint",
        Directive => "directive",
    }
}

/// A section of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub kind: SectionKind,
    /// The text.
    pub content: String,
}
