//! A task as a document.

use serde::Serialize;

use super::{
    CheckpointView, ClaimantView,
    values::{texts, time},
};
use crate::domain::{
    claim::Claim,
    task::{NotReadyReason, Task, TaskState},
};

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are those of `domain::task`, documented there")]
pub struct TaskView {
    pub id: String,
    pub title: String,
    pub body: String,
    pub status: &'static str,
    pub role: Option<String>,
    pub lane: Option<String>,
    pub parent: Option<String>,
    pub priority: u8,
    pub labels: Vec<String>,
    pub paths: Vec<String>,
    pub depends_on: Vec<String>,
    pub checks: Vec<CheckView>,
    pub review_domains: Vec<String>,
    pub claim: Option<ClaimView>,
    /// The claimant's session, in the commands that look at it; otherwise the field is omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimant: Option<ClaimantView>,
    pub branch: Option<String>,
    pub commit: Option<String>,
    pub blocked_reason: Option<String>,
    pub ready: bool,
    pub waiting_on: Vec<WaitingView>,
    pub created_at: String,
    pub updated_at: String,
    pub closed_at: Option<String>,
}

/// A named command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "documented at `domain::task::Check`")]
pub struct CheckView {
    pub name: String,
    pub command: String,
}

/// The claim of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "documented at `domain::claim::Claim`")]
pub struct ClaimView {
    pub claimant: String,
    pub session_id: Option<String>,
    pub role: Option<String>,
    pub epoch: i64,
    pub claimed_at: String,
    pub lease_until: Option<String>,
}

/// One thing that a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "documented at `domain::task::Waiting`")]
pub struct WaitingView {
    pub code: &'static str,
    pub id: String,
    pub message: String,
}

impl From<&Claim> for ClaimView {
    fn from(claim: &Claim) -> Self {
        Self {
            claimant: claim.claimant.clone(),
            session_id: claim.session.as_ref().map(ToString::to_string),
            role: claim.role.as_ref().map(ToString::to_string),
            epoch: claim.epoch,
            claimed_at: claim.claimed_at.to_string(),
            lease_until: time(claim.lease_until),
        }
    }
}

impl From<&NotReadyReason> for WaitingView {
    fn from(waiting: &NotReadyReason) -> Self {
        Self { code: waiting.code, id: waiting.id.to_string(), message: waiting.message.clone() }
    }
}

impl TaskView {
    /// The view of a task and what it waits for.
    #[must_use]
    pub fn new(task: &Task, waiting: &[NotReadyReason]) -> Self {
        let words = &task.fields;
        Self {
            id: task.id.to_string(),
            title: words.title.clone(),
            body: words.body.clone(),
            status: task.state.status().as_str(),
            role: words.role.as_ref().map(ToString::to_string),
            lane: words.lane.as_ref().map(ToString::to_string),
            parent: words.parent.as_ref().map(ToString::to_string),
            priority: words.priority,
            labels: words.labels.clone(),
            paths: words.paths.clone(),
            depends_on: texts(&words.depends_on),
            checks: words
                .checks
                .iter()
                .map(|check| CheckView { name: check.name.to_string(), command: check.command.clone() })
                .collect(),
            review_domains: texts(&words.review_domains),
            claim: task.state.claim().map(ClaimView::from),
            claimant: None,
            branch: task.branch.clone(),
            commit: task.commit.clone(),
            blocked_reason: match &task.state {
                TaskState::Blocked(_, reason) => Some(reason.clone()),
                _ => None,
            },
            ready: task.is_ready(),
            waiting_on: waiting.iter().map(WaitingView::from).collect(),
            created_at: task.created_at.to_string(),
            updated_at: task.updated_at.to_string(),
            closed_at: time(task.state.closed_at()),
        }
    }
}

/// A task that depends on another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DependentView {
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: &'static str,
}

/// An entry of a task's history: an event in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimelineEntryView {
    /// The number of the event.
    pub seq: i64,
    /// Its time.
    pub at: String,
    /// Its kind: `noun.verb`.
    pub kind: String,
    /// The actor.
    pub actor: String,
    /// The session that it is about, or that acted.
    pub session_id: Option<String>,
    /// The event in words.
    pub message: String,
}

/// A task with its surroundings and its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskDetailView {
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// The tasks that depend on it.
    pub dependents: Vec<DependentView>,
    /// Its newest checkpoint that an agent or a person wrote.
    pub checkpoint: Option<CheckpointView>,
    /// The author of that checkpoint.
    pub checkpoint_by: Option<String>,
    /// The commit of the base with which its work landed; null when it did not.
    pub landed_commit: Option<String>,
    /// The newest entries of its history, oldest first.
    pub timeline: Vec<TimelineEntryView>,
    /// Whether the history has earlier entries.
    #[serde(skip)]
    pub has_earlier: bool,
}
