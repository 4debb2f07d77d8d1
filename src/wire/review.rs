//! A review as a document.

use serde::Serialize;

use crate::domain::review::{Review, Verdict};

/// A review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "documented at `domain::review::Review`")]
pub struct ReviewView {
    pub id: i64,
    pub task_id: String,
    pub domain: String,
    pub status: &'static str,
    pub verdict: Option<&'static str>,
    pub commit: Option<String>,
    pub reviewer: Option<String>,
    pub notes: Option<String>,
    pub created_at: String,
}

impl ReviewView {
    /// A request that was withdrawn just now; its record is gone.
    #[must_use]
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
