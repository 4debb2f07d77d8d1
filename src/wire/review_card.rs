//! The card of a submitted task as a document.

use serde::Serialize;

use super::{CommandView, FileDiffView, ReviewCommentView, ReviewView, TaskView};
use crate::domain::blocker::Blocker;
use crate::domain::evidence::Evidence;

/// The next card, and how many there are.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OtherSubmittedView {
    /// The task.
    pub task: String,
    /// Why it does not wait.
    pub why: String,
}

/// A submitted task, as a reviewer needs it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// The known cost of the work in US dollars; null when none is known.
    pub cost_usd: Option<f64>,
    /// When the work was claimed.
    pub claimed_at: Option<String>,
    /// The commands that act on it.
    pub commands: Vec<CommandView>,
}

/// A consequence of changed files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConsequenceView {
    /// Its kind.
    pub kind: String,
    /// The files.
    pub paths: Vec<String>,
}

/// What was changed, as far as the reviewer has not seen it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
