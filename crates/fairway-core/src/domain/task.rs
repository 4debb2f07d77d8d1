//! A task and its transitions. The state carries the facts of that state: the claim, the reason of a block, the time of the end.

use std::time::Duration;

pub use super::blocker::NotReadyReason;
use super::claim::Claim;
use super::id::Label;
pub use super::status::TaskStatus;
use super::{Actor, LaneName, Refusal, Role, TaskId};
use crate::env::Timestamp;

/// The state of a task, with the facts of that state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    Todo,
    InProgress(Claim),
    /// Claimed; the claimant waits for something. The text is the reason.
    Blocked(Claim, String),
    Review(Claim),
    Done(Timestamp),
    Cancelled(Timestamp),
}

impl TaskState {
    pub const fn status(&self) -> TaskStatus {
        match self {
            Self::Todo => TaskStatus::Todo,
            Self::InProgress(_) => TaskStatus::InProgress,
            Self::Blocked(..) => TaskStatus::Blocked,
            Self::Review(_) => TaskStatus::Review,
            Self::Done(_) => TaskStatus::Done,
            Self::Cancelled(_) => TaskStatus::Cancelled,
        }
    }

    pub const fn claim(&self) -> Option<&Claim> {
        match self {
            Self::InProgress(claim) | Self::Blocked(claim, _) | Self::Review(claim) => Some(claim),
            Self::Todo | Self::Done(_) | Self::Cancelled(_) => None,
        }
    }

    pub const fn closed_at(&self) -> Option<Timestamp> {
        match self {
            Self::Done(at) | Self::Cancelled(at) => Some(*at),
            _ => None,
        }
    }
}

/// A named command that shows that a task is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name, unique on the task.
    pub name: Label,
    /// Shell text that a person wrote.
    pub command: String,
}

/// The fields of a task: everything that `add`, `edit` and `import` may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFields {
    /// The title: the work in a line.
    pub title: String,
    /// The description of the work; may be empty.
    pub body: String,
    pub role: Option<Role>,
    /// The lane in which it is to be done.
    pub lane: Option<LaneName>,
    /// The task it is a part of; it may be absent from the store after an import.
    pub parent: Option<TaskId>,
    /// From 0, the most urgent, to 4.
    pub priority: u8,
    /// Labels, sorted, without repeats.
    pub labels: Vec<String>,
    /// Globs of the files it expects to touch.
    pub paths: Vec<String>,
    /// The tasks that must be done before it, sorted; may name tasks that are absent from the store.
    pub depends_on: Vec<TaskId>,
    /// The commands that show that it is done.
    pub checks: Vec<Check>,
    /// The domains that must approve it.
    pub review_domains: Vec<Label>,
}

/// The priority of a task for which none was given.
pub const DEFAULT_PRIORITY: u8 = 2;
/// The last priority.
pub const LOWEST_PRIORITY: u8 = 4;

impl TaskFields {
    /// Fields with a title and the default priority, and nothing else.
    pub const fn with_title(title: String) -> Self {
        Self {
            title,
            body: String::new(),
            role: None,
            lane: None,
            parent: None,
            priority: DEFAULT_PRIORITY,
            labels: Vec::new(),
            paths: Vec::new(),
            depends_on: Vec::new(),
            checks: Vec::new(),
            review_domains: Vec::new(),
        }
    }
}

/// The fields of an unclaimed task that a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSummary {
    pub id: TaskId,
    pub title: String,
    pub status: TaskStatus,
    pub role: Option<Role>,
    /// The lane in which it is to be done.
    pub lane: Option<LaneName>,
    /// From 0, the most urgent, to 4.
    pub priority: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub fields: TaskFields,
    pub state: TaskState,
    /// The highest epoch that a claim on it ever had; 0 before the first.
    pub epoch: i64,
    /// How many of its dependencies are not done. The store derives and updates it.
    pub open_deps: i64,
    /// The branch that was checked out when the work was handed in last.
    pub branch: Option<String>,
    /// The commit at which the work was handed in last.
    pub commit: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Task {
    /// Whether the task's state and dependencies allow a claim; other rules may still forbid it.
    pub const fn is_ready(&self) -> bool {
        matches!(self.state, TaskState::Todo) && self.open_deps == 0
    }

    /// The commit at which the work was handed in. `None` while the task is worked on: then its work is what is checked out.
    pub fn fixed_commit(&self) -> Option<&str> {
        self.commit.as_deref().filter(|_| !self.is_worked_on())
    }

    pub const fn is_worked_on(&self) -> bool {
        matches!(self.state, TaskState::InProgress(_) | TaskState::Blocked(..))
    }

    fn wrong_state(&self, verb: &'static str) -> Refusal {
        Refusal::WrongState { task: self.id.clone(), status: self.state.status(), verb }
    }

    /// Makes a claim on the task, with the next epoch. It does not check the task's state: the caller must have checked by the
    /// rules that the claim is allowed.
    pub fn new_claim(&self, by: &Actor, now: Timestamp, lease: Option<Duration>) -> Claim {
        Claim {
            claimant: by.name.clone(),
            session: by.session.clone(),
            role: by.role.clone(),
            epoch: self.epoch.saturating_add(1),
            claimed_at: now,
            lease_until: lease.map(|lease| now.plus(lease)),
            lease,
        }
    }

    /// in_progress, blocked, review → the same status, under the claim of the session that continues. Any other state becomes
    /// in_progress.
    pub fn continued(&self, claim: Claim) -> TaskState {
        match &self.state {
            TaskState::Blocked(_, reason) => TaskState::Blocked(without_lease(&claim), reason.clone()),
            TaskState::Review(_) => TaskState::Review(without_lease(&claim)),
            _ => TaskState::InProgress(claim),
        }
    }

    /// in_progress, blocked, review → todo.
    /// Fails with `wrong_state` when the task has no claimant.
    pub fn released(&self) -> Result<TaskState, Refusal> {
        match &self.state {
            TaskState::InProgress(_) | TaskState::Blocked(..) | TaskState::Review(_) => Ok(TaskState::Todo),
            _ => Err(self.wrong_state("released")),
        }
    }

    /// in_progress → review. The lease is cleared, since a reviewer may take as long as needed.
    /// Fails with `wrong_state` from any other state.
    pub fn submitted(&self) -> Result<TaskState, Refusal> {
        match &self.state {
            TaskState::InProgress(claim) => Ok(TaskState::Review(without_lease(claim))),
            _ => Err(self.wrong_state("submitted")),
        }
    }

    /// review → in_progress.
    /// Fails with `wrong_state` from any other state.
    pub fn resumed(&self) -> Result<TaskState, Refusal> {
        match &self.state {
            TaskState::Review(claim) => Ok(TaskState::InProgress(claim.clone())),
            _ => Err(self.wrong_state("resumed")),
        }
    }

    /// in_progress → blocked, with the reason. The lease is cleared.
    /// Fails with `wrong_state` from any other state.
    pub fn blocked(&self, reason: String) -> Result<TaskState, Refusal> {
        match &self.state {
            TaskState::InProgress(claim) => Ok(TaskState::Blocked(without_lease(claim), reason)),
            _ => Err(self.wrong_state("blocked")),
        }
    }

    /// blocked → in_progress.
    /// Fails with `wrong_state` from any other state.
    pub fn unblocked(&self) -> Result<TaskState, Refusal> {
        match &self.state {
            TaskState::Blocked(claim, _) => Ok(TaskState::InProgress(claim.clone())),
            _ => Err(self.wrong_state("unblocked")),
        }
    }

    /// in_progress, review → done. The caller must have judged the gates before.
    /// Fails with `wrong_state` from any other state.
    pub fn done(&self, now: Timestamp) -> Result<TaskState, Refusal> {
        match &self.state {
            TaskState::InProgress(_) | TaskState::Review(_) => Ok(TaskState::Done(now)),
            _ => Err(self.wrong_state("marked done")),
        }
    }

    /// Any open state → cancelled.
    /// Fails with `wrong_state` when it is closed.
    pub fn cancelled(&self, now: Timestamp) -> Result<TaskState, Refusal> {
        if self.state.status().is_closed() {
            return Err(self.wrong_state("cancelled"));
        }
        Ok(TaskState::Cancelled(now))
    }

    /// done, cancelled → todo.
    /// Fails with `wrong_state` when it is open.
    pub fn reopened(&self) -> Result<TaskState, Refusal> {
        match &self.state {
            TaskState::Done(_) | TaskState::Cancelled(_) => Ok(TaskState::Todo),
            _ => Err(self.wrong_state("reopened")),
        }
    }
}

fn without_lease(claim: &Claim) -> Claim {
    Claim { lease_until: None, lease: None, ..claim.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000);

    fn in_state(state: TaskState) -> Task {
        Task {
            id: TaskId::parse("T-1").unwrap(),
            fields: TaskFields::with_title("title".into()),
            state,
            epoch: 3,
            open_deps: 0,
            branch: None,
            commit: None,
            created_at: NOW,
            updated_at: NOW,
        }
    }

    fn claim() -> Claim {
        Claim {
            claimant: "a".into(),
            session: None,
            role: None,
            epoch: 3,
            claimed_at: NOW,
            lease_until: Some(NOW),
            lease: Some(Duration::from_secs(1)),
        }
    }

    /// The whole table: which verb leads from which state to which.
    #[test]
    fn task_transitions_follow_the_table() {
        type Verb = fn(&Task) -> Result<TaskState, Refusal>;
        let verbs: [(&str, Verb, [Option<TaskStatus>; 6]); 8] = {
            use TaskStatus::{Blocked, Cancelled, Done, InProgress, Review, Todo};
            // From:                                    todo, in_progress, blocked, review, done, cancelled
            [
                ("release", Task::released, [None, Some(Todo), Some(Todo), Some(Todo), None, None]),
                ("submit", Task::submitted, [None, Some(Review), None, None, None, None]),
                ("resume", Task::resumed, [None, None, None, Some(InProgress), None, None]),
                ("block", |task| task.blocked("why".into()), [None, Some(Blocked), None, None, None, None]),
                ("unblock", Task::unblocked, [None, None, Some(InProgress), None, None, None]),
                ("done", |task| task.done(NOW), [None, Some(Done), None, Some(Done), None, None]),
                (
                    "cancel",
                    |task| task.cancelled(NOW),
                    [Some(Cancelled), Some(Cancelled), Some(Cancelled), Some(Cancelled), None, None],
                ),
                ("reopen", Task::reopened, [None, None, None, None, Some(Todo), Some(Todo)]),
            ]
        };
        let states = [
            TaskState::Todo,
            TaskState::InProgress(claim()),
            TaskState::Blocked(claim(), "why".into()),
            TaskState::Review(claim()),
            TaskState::Done(NOW),
            TaskState::Cancelled(NOW),
        ];
        for (name, verb, expected) in verbs {
            for (state, want) in states.iter().zip(expected) {
                let moved = verb(&in_state(state.clone()));
                assert_eq!(moved.as_ref().ok().map(TaskState::status), want, "{name} from {}", state.status());
                if let Err(refusal) = moved {
                    assert_eq!(refusal.code(), "wrong_state");
                }
            }
        }
    }

    #[test]
    fn submit_and_block_clear_the_lease_and_keep_the_claimant() {
        let task = in_state(TaskState::InProgress(claim()));
        for state in [task.submitted().unwrap(), task.blocked("why".into()).unwrap()] {
            let claim = state.claim().unwrap();
            assert_eq!((claim.claimant.as_str(), claim.epoch, claim.lease_until), ("a", 3, None));
        }
    }
}
