//! A review: a domain's verdict on a task at a commit.

use super::{TaskId, id::Label, string_enum::string_enum};
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
