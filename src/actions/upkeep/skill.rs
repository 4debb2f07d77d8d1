//! The skill: the short form of the contract, in the form in which agents' command lines load it.

/// The skill of this version.
pub const SKILL: &str = include_str!("skill.md");
