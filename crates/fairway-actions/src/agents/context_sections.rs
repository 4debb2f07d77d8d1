//! Sections of the context that an agent gets.

use fairway_core::domain::string_enum::string_enum;

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
    /// The kinds of sections, in the order in which they are composed.
    SectionKind {
        Role => "role",
        Work => "work",
        Mail => "mail",
        Checkpoint => "checkpoint",
        Directive => "directive",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub kind: SectionKind,
    pub content: String,
}
