//! The id of a commit.

/// How many characters of an id people read.
const SHORT_LENGTH: usize = 12;

/// The first 12 characters of a commit's id, for messages and commands.
pub fn short(commit: &str) -> &str {
    commit.get(..SHORT_LENGTH).unwrap_or(commit)
}
