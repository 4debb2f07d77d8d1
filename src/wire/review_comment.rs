//! A comment on a line as a document.

use serde::Serialize;

use crate::domain::review::{CommentStatus, LinePlace, ReviewComment};

/// A comment of a reviewer on a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReviewCommentView {
    /// Its number.
    pub id: i64,
    /// The task.
    pub task_id: String,
    /// Who wrote it.
    pub reviewer: String,
    /// open, answered (a commit of the author changed the line), resolved (the reviewer closed it).
    #[cfg_attr(test, schemars(with = "crate::domain::review::CommentStatus"))]
    pub status: &'static str,
    /// The path of the file, in the commit of the work now; in `commit` when the line is gone.
    pub path: String,
    /// The number of the line there, from 1.
    pub line: u64,
    /// The commit that was commented on.
    pub commit: String,
    /// What the line says there.
    pub line_text: String,
    /// The comment.
    pub text: String,
    /// The review whose verdict told the author; null until then.
    pub told_in: Option<i64>,
    /// Who closed it.
    pub resolved_by: Option<String>,
    /// When it was written.
    pub created_at: String,
}

impl ReviewCommentView {
    /// A comment in this state, with its line at this place.
    pub fn new(comment: &ReviewComment, status: CommentStatus, place: &LinePlace) -> Self {
        Self {
            id: comment.id,
            task_id: comment.task.to_string(),
            reviewer: comment.reviewer.clone(),
            status: status.as_str(),
            path: place.path.clone(),
            line: place.line,
            commit: comment.commit.clone(),
            line_text: comment.line_text.clone(),
            text: comment.content.clone(),
            told_in: comment.told_in,
            resolved_by: comment.resolved.as_ref().map(|(by, _)| by.clone()),
            created_at: comment.created_at.to_string(),
        }
    }
}
