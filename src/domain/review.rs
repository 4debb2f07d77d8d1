//! A review: a domain's verdict on a task at a commit.

use super::{Role, TaskId, id::Label, string_enum::string_enum};
use crate::env::Timestamp;

string_enum! {
    /// The verdict of the reviewer.
    Verdict { Approve => "approve", Changes => "changes", Reject => "reject" }
}

string_enum! {
    /// Whether it was answered.
    ReviewStatus { Requested => "requested", Recorded => "recorded" }
}

/// A review, asked for or given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Its number.
    pub id: i64,
    pub task: TaskId,
    /// The domain it speaks for.
    pub domain: Label,
    /// The verdict; `None` while the review is only requested.
    pub verdict: Option<Verdict>,
    /// The commit it speaks of.
    pub commit: Option<String>,
    /// The reviewer: requested, or who gave the verdict.
    pub reviewer: Option<String>,
    /// The actor that recorded it: a session's id or `user@host`.
    pub actor: String,
    /// The particulars.
    pub notes: Option<String>,
    /// When it was asked for, or given.
    pub created_at: Timestamp,
}

impl Review {
    /// Whether it was answered.
    pub const fn status(&self) -> ReviewStatus {
        if self.verdict.is_some() { ReviewStatus::Recorded } else { ReviewStatus::Requested }
    }
}

/// A task whose review is not over: it was submitted, or was sent back and is reworked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenReview {
    pub task: TaskId,
    /// The role of its work.
    pub role: Option<Role>,
    /// The reviewers that are asked, or the author of work that was sent back; empty when any reviewer may give the verdict.
    pub waits_for: Vec<String>,
}

/// The most open reviews that a summary names.
const MAX_NAMED: usize = 5;

/// The open reviews and for whom they wait, in a line.
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
