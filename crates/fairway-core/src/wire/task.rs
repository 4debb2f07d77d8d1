//! Tasks as documents: their claims, details and dependencies.

use serde::Serialize;

use super::values::{texts, time};
use super::{ClaimantView, CommandView};
use crate::domain::checkpoint::Checkpoint;
use crate::domain::claim::Claim;
use crate::domain::task::{NotReadyReason, Task, TaskState, TaskStatus};

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TaskView {
    /// Its id.
    pub id: String,
    /// The work in a line.
    pub title: String,
    /// The description; may be empty.
    pub body: String,
    /// Its status.
    pub status: TaskStatus,
    /// The role that it needs.
    pub role: Option<String>,
    /// The lane in which it is to be done.
    pub lane: Option<String>,
    /// The task that it is a part of.
    pub parent: Option<String>,
    /// 0 is first, 4 last.
    #[cfg_attr(feature = "schemas", schemars(range(max = 4)))]
    pub priority: u8,
    /// Its labels, sorted.
    pub labels: Vec<String>,
    /// Globs of the files that it expects to touch.
    pub paths: Vec<String>,
    /// The tasks that must be done before it.
    pub depends_on: Vec<String>,
    /// The commands that show that it is done.
    pub checks: Vec<CheckView>,
    /// The domains that must approve it.
    pub review_domains: Vec<String>,
    /// The claim; null without one.
    pub claim: Option<ClaimView>,
    /// The claimant's session, in the commands that look at it; otherwise the field is omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "ClaimantView"))]
    pub claimant: Option<ClaimantView>,
    /// The branch of the work.
    pub branch: Option<String>,
    /// The commit of the work.
    pub commit: Option<String>,
    /// Why it is blocked.
    pub blocked_reason: Option<String>,
    /// Whether it can be claimed now.
    pub ready: bool,
    /// The dependencies that are not done.
    pub waiting_on: Vec<NotReadyReason>,
    /// When it was added.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// When it was done or cancelled.
    pub closed_at: Option<String>,
}

/// The commands that change a task of this status, each with its purpose.
pub fn task_commands(id: &str, status: &str, is_claimed: bool) -> Vec<CommandView> {
    let next = |purpose: &str, command: String| CommandView { purpose: purpose.to_owned(), command };
    let release = || next("release", format!("fairway release {id} --force --reason TEXT"));
    let finish = || next("finish", format!("fairway done {id} --force --reason TEXT"));
    let mut found = match status {
        "todo" => Vec::new(),
        "in_progress" => {
            vec![next("block", format!("fairway task block {id} --force --reason TEXT")), release(), finish()]
        }
        "blocked" => vec![next("unblock", format!("fairway task unblock {id} --force --reason TEXT")), release()],
        "review" => vec![finish()],
        _ => return vec![next("reopen", format!("fairway task reopen {id} --reason TEXT"))],
    };
    let force = if is_claimed { " --force" } else { "" };
    found.push(next("cancel", format!("fairway task cancel {id}{force} --reason TEXT")));
    found
}

/// A named command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CheckView {
    /// Its name, unique in the task.
    pub name: String,
    /// The command, as shell text.
    pub command: String,
}

/// The claim of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ClaimView {
    /// The session's id, else `user@host`; on a server `user@host#1f3a`, with four letters of the machine.
    pub claimant: String,
    /// The session; null for a person.
    pub session_id: Option<String>,
    /// The role in which it was claimed.
    pub role: Option<String>,
    /// The number of the claim, which grows with every change of hands.
    pub epoch: i64,
    /// Since when.
    pub claimed_at: String,
    /// When the lease ends without a heartbeat; null without a lease.
    pub lease_until: Option<String>,
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

impl TaskView {
    /// The view of a task. `waiting` are the reasons why it is not ready.
    pub fn new(task: &Task, waiting: &[NotReadyReason]) -> Self {
        let words = &task.fields;
        Self {
            id: task.id.to_string(),
            title: words.title.clone(),
            body: words.body.clone(),
            status: task.state.status(),
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
            waiting_on: waiting.to_vec(),
            created_at: task.created_at.to_string(),
            updated_at: task.updated_at.to_string(),
            closed_at: time(task.state.closed_at()),
        }
    }
}

/// A task that depends on another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DependentView {
    /// Its id.
    pub id: String,
    /// Its status.
    pub status: TaskStatus,
}

/// An entry of a task's history: an event in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TaskDetailView {
    /// The task.
    #[serde(flatten)]
    pub task: TaskView,
    /// The tasks that depend on it.
    pub dependents: Vec<DependentView>,
    /// Its newest checkpoint that an agent or a person wrote.
    pub checkpoint: Option<Checkpoint>,
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

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ClaimedView {
    /// The task, with the claim.
    pub task: TaskView,
    /// How the claim came about: `fresh`, `expired`, `stolen`, `continued` or `handed_over`. The renewal of a claim omits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    pub takeover: Option<&'static str>,
    /// The previous claimant; null without one. The renewal of a claim omits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Option<String>>,
}

impl ClaimedView {
    /// The answer when a claimant has claimed its task again, which only renews the claim.
    pub const fn renewed(task: TaskView) -> Self {
        Self { task, takeover: None, from: None }
    }
}

/// The answer to a release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ReleasedView {
    /// The tasks, without their claims.
    pub tasks: Vec<TaskView>,
}

/// The tasks that were removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RemovedTasksView {
    /// The tasks, as they were.
    pub removed: Vec<TaskView>,
}

/// The dependencies below a task, flat, in the order of a walk: a node's children follow it one level deeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DepTreeView {
    /// The task at the top.
    pub task_id: String,
    /// The task itself and everything below it.
    pub nodes: Vec<DepNodeView>,
}

/// One place in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DepNodeView {
    /// The task here.
    pub task_id: String,
    /// How deep: 0 is the task at the top.
    pub depth: usize,
    /// The status; null when the task is not in the store.
    pub status: Option<TaskStatus>,
    /// The title; null when the task is not in the store.
    pub title: Option<String>,
    /// Whether it stands further up already; what is below it is shown there.
    pub repeated: bool,
}
