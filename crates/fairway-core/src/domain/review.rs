//! A review: a domain's verdict on a task at a commit, and the comments of reviewers on its lines.

use super::TaskId;
use super::id::Label;
use super::string_enum::string_enum;
use crate::env::Timestamp;

string_enum! {
    Verdict { Approve => "approve", Changes => "changes", Reject => "reject" }
}

string_enum! {
    /// Whether it was answered.
    ReviewStatus { Requested => "requested", Recorded => "recorded" }
}

/// A review, asked for or given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub id: i64,
    pub task: TaskId,
    pub domain: Label,
    /// The verdict; `None` while the review is only requested.
    pub verdict: Option<Verdict>,
    pub commit: Option<String>,
    /// The person or session that is asked for the verdict or has given it.
    pub reviewer: Option<String>,
    /// The actor that recorded it: a session's id or `user@host`.
    pub actor: String,
    pub notes: Option<String>,
    /// When the review was requested, or the verdict given.
    pub created_at: Timestamp,
}

impl Review {
    pub const fn status(&self) -> ReviewStatus {
        if self.verdict.is_some() { ReviewStatus::Recorded } else { ReviewStatus::Requested }
    }
}

/// A task whose review is not over: it was submitted, or was sent back and is reworked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReview {
    pub task: TaskId,
    /// The reviewers that are asked, or the author of work that was sent back; empty when any reviewer may give the verdict.
    pub waits_for: Vec<String>,
}

/// The most open reviews that a summary names.
const MAX_NAMED: usize = 5;

/// One line with up to five open reviews and the reviewers that each waits for.
pub fn summary(open: &[OpenReview]) -> String {
    let one = |review: &OpenReview| match review.waits_for.as_slice() {
        [] => review.task.to_string(),
        names => format!("{} (for {})", review.task, names.join(" and ")),
    };
    let mut text = open.iter().take(MAX_NAMED).map(one).collect::<Vec<_>>().join(", ");
    if open.len() > MAX_NAMED {
        text = format!("{text} and {} more", open.len() - MAX_NAMED);
    }
    text
}

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePlace {
    pub path: String,
    pub line: u64,
}

impl LinePlace {
    /// Parses `FILE:LINE`. The file's name may contain a colon. Returns `None` for another form, and for line 0.
    pub fn parse(text: &str) -> Option<Self> {
        let (path, line) = text.rsplit_once(':')?;
        let line = line.parse().ok().filter(|line| *line > 0)?;
        Some(Self { path: path.to_owned(), line }).filter(|place| !place.path.is_empty())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewComment {
    pub id: i64,
    pub task: TaskId,
    pub reviewer: String,
    pub commit: String,
    pub place: LinePlace,
    /// What the line says there.
    pub line_text: String,
    pub content: String,
    pub created_at: Timestamp,
    /// The review whose verdict told the author; `None` until then.
    pub told_in: Option<i64>,
    /// Who closed it, and when.
    pub resolved: Option<(String, Timestamp)>,
    /// The conversation of its pull request; `None` for a comment that was written here.
    pub thread: Option<String>,
}

/// An open comment, as a gate names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenComment {
    pub id: i64,
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
