//! How many tasks were claimed and done on each day, and how long they were in each state, from the event log.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::EventKind;
use crate::domain::task::TaskStatus;
use crate::env::Timestamp;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

const STATES: [TaskStatus; 4] = [TaskStatus::Todo, TaskStatus::InProgress, TaskStatus::Blocked, TaskStatus::Review];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskChange {
    pub task: String,
    pub at: Timestamp,
    pub kind: EventKind,
    pub to: TaskStatus,
    /// Whether the change is counted. A change outside of the period or the sessions in question only gives times.
    pub is_counted: bool,
}

/// Numbers of a day, or of a whole period.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskNumbers {
    claimed: BTreeSet<(i64, String)>,
    /// For each time that a task was done: the time since its claim, and that in each of [`STATES`], in milliseconds.
    done: Vec<[i64; 5]>,
}

/// Medians over the tasks that were done, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskMedians {
    /// From the first claim until it was done.
    pub claim_to_done: i64,
    /// Waiting for a claim.
    pub todo: i64,
    /// Claimed, and neither blocked nor in review.
    pub in_progress: i64,
    pub blocked: i64,
    pub review: i64,
}

impl TaskNumbers {
    /// The number of tasks that were claimed. A task counts once for each day on which it was claimed.
    pub fn claimed(&self) -> usize {
        self.claimed.len()
    }

    /// How many times a task was done; one that was reopened counts again.
    pub fn done(&self) -> usize {
        self.done.len()
    }

    /// The medians of the times of the tasks that were done; `None` if no task was done.
    pub fn medians(&self) -> Option<TaskMedians> {
        let median = |place: usize| {
            let mut values: Vec<i64> = self.done.iter().filter_map(|times| times.get(place).copied()).collect();
            values.sort_unstable();
            let upper = *values.get(values.len() / 2)?;
            let lower = *values.get(values.len().saturating_sub(1) / 2)?;
            Some(i64::midpoint(lower, upper) / 1000)
        };
        Some(TaskMedians {
            claim_to_done: median(0)?,
            todo: median(1)?,
            in_progress: median(2)?,
            blocked: median(3)?,
            review: median(4)?,
        })
    }

    pub fn add(&mut self, other: &Self) {
        self.claimed.extend(other.claimed.iter().cloned());
        self.done.extend(&other.done);
    }
}

/// The progress of a task since it was added or reopened.
struct Progress {
    status: TaskStatus,
    since: Timestamp,
    claimed_at: Option<Timestamp>,
    /// The time in each of [`STATES`], in milliseconds.
    times: [i64; 4],
}

/// The numbers of each day, by days since 1970-01-01 UTC. `changes` must be in the order of the event log, from its beginning.
pub fn by_day(changes: impl IntoIterator<Item = TaskChange>) -> BTreeMap<i64, TaskNumbers> {
    let mut tasks: BTreeMap<String, Progress> = BTreeMap::new();
    let mut days: BTreeMap<i64, TaskNumbers> = BTreeMap::new();
    for change in changes {
        let start = Progress { status: change.to, since: change.at, claimed_at: None, times: [0; 4] };
        let begins = matches!(change.kind, EventKind::TaskAdded | EventKind::TaskImported | EventKind::TaskReopened);
        let progress = tasks.entry(change.task.clone()).or_insert(Progress { ..start });
        if begins {
            *progress = Progress { status: change.to, since: change.at, claimed_at: None, times: [0; 4] };
            continue;
        }
        if let Some(place) = STATES.iter().position(|state| *state == progress.status)
            && let Some(time) = progress.times.get_mut(place)
        {
            *time += (change.at.millis() - progress.since.millis()).max(0);
        }
        let was_done = progress.status == TaskStatus::Done;
        (progress.status, progress.since) = (change.to, change.at);
        let day = change.at.millis().div_euclid(DAY_MS);
        if change.kind == EventKind::TaskClaimed {
            progress.claimed_at.get_or_insert(change.at);
            if change.is_counted {
                days.entry(day).or_default().claimed.insert((day, change.task));
            }
        } else if matches!(change.kind, EventKind::TaskDone | EventKind::TaskLanded) && !was_done && change.is_counted {
            // A person may close a task that was never claimed.
            let claimed_at = progress.claimed_at.unwrap_or(change.at);
            let [todo, in_progress, blocked, review] = progress.times;
            let since_claim = (change.at.millis() - claimed_at.millis()).max(0);
            days.entry(day).or_default().done.push([since_claim, todo, in_progress, blocked, review]);
        }
    }
    days
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(task: &str, seconds: i64, kind: EventKind, to: TaskStatus) -> TaskChange {
        TaskChange { task: task.into(), at: Timestamp::from_millis(seconds * 1000), kind, to, is_counted: true }
    }

    #[test]
    fn times_add_up_over_every_state_and_start_again_after_a_reopening() {
        use EventKind as Kind;
        use TaskStatus::{Blocked, Done, InProgress, Review, Todo};
        let day = DAY_MS / 1000;
        let days = by_day([
            change("T", 0, Kind::TaskAdded, Todo),
            change("T", 10, Kind::TaskClaimed, InProgress),
            change("T", 30, Kind::TaskBlocked, Blocked),
            change("T", 70, Kind::TaskUnblocked, InProgress),
            change("T", 75, Kind::TaskReleased, Todo),
            change("T", 76, Kind::TaskClaimed, InProgress),
            change("T", 80, Kind::TaskSubmitted, Review),
            change("T", 100, Kind::TaskDone, Done),
            change("T", 200, Kind::TaskReopened, Todo),
            change("T", day, Kind::TaskClaimed, InProgress),
            change("T", day + 7, Kind::TaskDone, Done),
        ]);
        let first = TaskMedians { claim_to_done: 90, todo: 11, in_progress: 29, blocked: 40, review: 20 };
        let second = TaskMedians { claim_to_done: 7, todo: day - 200, in_progress: 7, blocked: 0, review: 0 };
        let numbers: Vec<_> = days.iter().map(|(day, one)| (*day, one.claimed(), one.done(), one.medians())).collect();
        assert_eq!(numbers, [(0, 1, 1, Some(first)), (1, 1, 1, Some(second))]);
        let mut all = TaskNumbers::default();
        for one in days.values() {
            all.add(one);
        }
        assert_eq!((all.claimed(), all.done()), (2, 2));
        // Of two the mean.
        assert_eq!(all.medians().unwrap().claim_to_done, 48);
    }

    #[test]
    fn uncounted_changes_give_times_only() {
        let mut claimed = change("T", 5, EventKind::TaskClaimed, TaskStatus::InProgress);
        claimed.is_counted = false;
        let days = by_day([claimed, change("T", 9, EventKind::TaskDone, TaskStatus::Done)]);
        let numbers = days.get(&0).unwrap();
        assert_eq!((numbers.claimed(), numbers.done()), (0, 1));
        assert_eq!(numbers.medians().unwrap().claim_to_done, 4);
    }
}
