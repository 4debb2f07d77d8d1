//! A review as a document.

use serde::Serialize;

use crate::domain::review::{Review, Verdict};

/// A review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewView {
    /// Its number.
    pub id: i64,
    /// The task.
    pub task_id: String,
    /// The domain that it speaks for.
    pub domain: String,
    /// `requested`, `recorded` or `withdrawn`.
    pub status: &'static str,
    /// The verdict; null while the review is only requested.
    #[cfg_attr(test, schemars(with = "Option<crate::domain::review::Verdict>"))]
    pub verdict: Option<&'static str>,
    /// The commit that it speaks of.
    pub commit: Option<String>,
    /// The reviewer, wanted or real.
    pub reviewer: Option<String>,
    /// The words.
    pub notes: Option<String>,
    /// When it was requested or recorded.
    pub created_at: String,
}

impl ReviewView {
    /// A request that was withdrawn just now; its record is gone.
    pub fn withdrawn(review: &Review) -> Self {
        Self { status: "withdrawn", ..Self::from(review) }
    }
}

impl From<&Review> for ReviewView {
    fn from(review: &Review) -> Self {
        Self {
            id: review.id,
            task_id: review.task.to_string(),
            domain: review.domain.to_string(),
            status: review.status().as_str(),
            verdict: review.verdict.map(Verdict::as_str),
            commit: review.commit.clone(),
            reviewer: review.reviewer.clone(),
            notes: review.notes.clone(),
            created_at: review.created_at.to_string(),
        }
    }
}
