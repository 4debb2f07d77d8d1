//! Reviews as documents: comments on lines, and the card of the next submitted task.

use serde::Serialize;

use super::{CommandView, CostView, FileDiffView, TaskView};
use crate::domain::blocker::Blocker;
use crate::domain::evidence::Evidence;
use crate::domain::review::{CommentStatus, LinePlace, Review, ReviewComment, Verdict};

/// A review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    pub verdict: Option<Verdict>,
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
    /// The view of a review request that was just withdrawn. The store has no record of it any more.
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
            verdict: review.verdict,
            commit: review.commit.clone(),
            reviewer: review.reviewer.clone(),
            notes: review.notes.clone(),
            created_at: review.created_at.to_string(),
        }
    }
}

/// A comment of a reviewer on a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReviewCommentView {
    /// Its number.
    pub id: i64,
    /// The task.
    pub task_id: String,
    /// Who wrote it.
    pub reviewer: String,
    /// open, answered (a commit of the author changed the line), resolved (the reviewer closed it).
    pub status: CommentStatus,
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
    /// The view of a comment with its current state and the current place of its line.
    pub fn new(comment: &ReviewComment, status: CommentStatus, place: &LinePlace) -> Self {
        Self {
            id: comment.id,
            task_id: comment.task.to_string(),
            reviewer: comment.reviewer.clone(),
            status,
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

/// The next card, and how many there are.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReviewNextView {
    /// The card; null when no submitted task waits for the reviewer.
    pub card: Option<Box<ReviewCardView>>,
    /// The tasks that wait for the reviewer, in the order of their cards.
    pub waiting: Vec<String>,
    /// Those of them that the reviewer put off.
    pub deferred: Vec<String>,
    /// The submitted tasks that do not wait for the reviewer.
    pub others: Vec<OtherSubmittedView>,
}

/// A submitted task that does not wait for the reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OtherSubmittedView {
    /// The task.
    pub task: String,
    /// Why it does not wait.
    pub why: String,
}

/// A submitted task, as a reviewer needs it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReviewCardView {
    /// The task.
    pub task: TaskView,
    /// When it was submitted; null when it was not.
    pub submitted_at: Option<String>,
    /// The open tasks that depend on it.
    pub wanted_by: Vec<String>,
    /// The claimant.
    pub author: Option<String>,
    /// What was changed; null when it is unknown.
    pub changes: Option<ReviewChangesView>,
    /// Why the changes are unknown.
    pub problem: Option<String>,
    /// Whether the worktree has changes that are in no commit; null when that is unknown.
    pub uncommitted: Option<bool>,
    /// The evidence that was recorded at the commit.
    pub evidence: Vec<Evidence>,
    /// The number of records of evidence at other commits.
    pub other_evidence: usize,
    /// The verdicts and requests.
    pub reviews: Vec<ReviewView>,
    /// The comments on lines that are open.
    pub comments: Vec<ReviewCommentView>,
    /// What keeps it from being merged.
    pub blockers: Vec<Blocker>,
    /// What the change would do beside the files that it changes.
    pub consequences: Vec<ConsequenceView>,
    /// The cost of the work.
    #[serde(flatten)]
    pub cost: CostView,
    /// When the work was claimed.
    pub claimed_at: Option<String>,
    /// The commands that act on it.
    pub commands: Vec<CommandView>,
}

/// A consequence of changed files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ConsequenceView {
    /// Its kind.
    pub kind: String,
    /// The files.
    pub paths: Vec<String>,
}

/// What was changed, as far as the reviewer has not seen it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReviewChangesView {
    /// The commit of the work.
    pub commit: String,
    /// The name of the base.
    pub base: String,
    /// The newest commit of the base that the work contains.
    pub fork: String,
    /// The commit that the reviewer has seen and the changes are compared with; null when everything is shown.
    pub since: Option<String>,
    /// Why everything is shown although the reviewer has seen a commit.
    pub why_all: Option<String>,
    /// The files in which the base conflicts with what was seen: only lines of neither side are added.
    pub conflicts: Vec<String>,
    /// The commits, and what became of those that were seen.
    pub commits: Vec<ReviewCommitView>,
    /// The files, by path.
    pub files: Vec<FileDiffView>,
    /// The number of added lines.
    pub added: u64,
    /// The number of deleted lines.
    pub deleted: u64,
    /// The differences as `git diff` prints them.
    pub patch: String,
    /// Whether the end of the patch is left out: it is too long.
    pub patch_cut: bool,
}

/// A commit before and after a rework.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReviewCommitView {
    /// same, changed, dropped, new.
    pub change: &'static str,
    /// It as it was seen, abbreviated.
    pub before: Option<String>,
    /// It as it is, abbreviated.
    pub after: Option<String>,
    /// The first line of its message.
    pub subject: String,
}
