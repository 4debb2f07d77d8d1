//! Sections of the context that an agent gets.

use crate::domain::string_enum::string_enum;

string_enum! {
    /// How much is told.
    Mode {
        Full => "full",
        Compact => "compact",
        /// After a compaction: what was being done.
        Resume => "resume",
    }
}

string_enum! {
    /// What a section is about, in the order of telling.
    SectionKind {
        Role => "role",
        Work => "work",
        Mail => "mail",
        Checkpoint => "checkpoint",
        Directive => "directive",
    }
}

/// A part of what is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// What it is about.
    pub kind: SectionKind,
    /// The text.
    pub content: String,
}
