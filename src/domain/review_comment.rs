//! A comment of a reviewer on a line of a commit.

use super::{TaskId, string_enum::string_enum};
use crate::env::Timestamp;

string_enum! {
    /// Whether the author has something to do about it.
    CommentStatus {
        /// The line is as it was.
        Open => "open",
        /// A commit of the author changed the line or removed it.
        Answered => "answered",
        /// The reviewer closed it.
        Resolved => "resolved",
    }
}

/// A line of a file, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePlace {
    /// The path of the file.
    pub path: String,
    /// The number of the line.
    pub line: u64,
}

impl LinePlace {
    /// Reads `FILE:LINE`. A file may have a colon in its name.
    pub fn parse(text: &str) -> Option<Self> {
        let (path, line) = text.rsplit_once(':')?;
        let line = line.parse().ok().filter(|line| *line > 0)?;
        Some(Self { path: path.to_owned(), line }).filter(|place| !place.path.is_empty())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewComment {
    /// Its number.
    pub id: i64,
    pub task: TaskId,
    /// The actor that wrote it.
    pub reviewer: String,
    pub commit: String,
    /// The line of the commit.
    pub place: LinePlace,
    /// What the line says there.
    pub line_text: String,
    /// The comment.
    pub content: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// The review whose verdict told the author; `None` until then.
    pub told_in: Option<i64>,
    /// Who closed it, and when.
    pub resolved: Option<(String, Timestamp)>,
}

/// An open comment, as a gate names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenComment {
    /// Its number.
    pub id: i64,
    /// The actor that wrote it.
    pub reviewer: String,
    /// The line, in the commit of the work.
    pub place: LinePlace,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_is_a_file_and_a_line_from_one() {
        let place = |path: &str, line| Some(LinePlace { path: path.into(), line });
        assert_eq!(LinePlace::parse("src/a.rs:12"), place("src/a.rs", 12));
        assert_eq!(LinePlace::parse("a:b:1"), place("a:b", 1));
        for wrong in ["src/a.rs", "src/a.rs:", "src/a.rs:0", "src/a.rs:-1", ":3", "a:x"] {
            assert_eq!(LinePlace::parse(wrong), None, "{wrong}");
        }
    }
}
