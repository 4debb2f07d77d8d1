//! The fencing rules: which actor may write to a task. A worker that lost its claim while it slept must not overwrite the work
//! of its successor.

use crate::domain::task::Task;
use crate::domain::{Actor, Refusal};

/// A command's intended write to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskWrite {
    /// Move it or finish it: for the claimant alone.
    Transition,
    /// Cancel it: allowed for every actor while the task has no claimant.
    Cancel,
    /// Reopen it, or stand in for its claimant: for everybody whose `--epoch`, when they name one, is in force.
    Override,
    /// Add a record: for everybody who has not lost a claim on it.
    AddRecord,
}

/// Checks that `actor` may write to `task`.
///
/// A named `--epoch` must be the task's present one. Only the claimant may change the state of a claimed task; any other actor
/// may add a record to it, such as a review. `latest` is the epoch of the actor's newest claim on this task; `None` when it never
/// had one. When another claim has superseded that one, a session may not even add a record, and a person may not change the
/// task's state. An override needs no claim, and neither does the cancelling of an unclaimed task.
/// Fails with `stale_claim` when the actor's claim was superseded, `not_claimant` when the actor never had one.
pub fn check(task: &Task, actor: &Actor, latest: Option<i64>, intent: TaskWrite) -> Result<(), Refusal> {
    let holder = task.state.claim();
    let stale = |yours: i64| Refusal::StaleClaim {
        task: task.id.clone(),
        yours,
        current: task.epoch,
        by: holder.map(|claim| claim.claimant.clone()),
    };
    if let Some(epoch) = actor.epoch
        && epoch != task.epoch
    {
        return Err(stale(epoch));
    }
    if intent == TaskWrite::Override || holder.is_none() && intent == TaskWrite::Cancel {
        return Ok(());
    }
    let is_holder = holder.is_some_and(|claim| actor.is_named(&claim.claimant));
    if let Some(latest) = latest
        && latest < task.epoch
        && !is_holder
        && (actor.session.is_some() || intent != TaskWrite::AddRecord)
    {
        return Err(stale(latest));
    }
    match holder {
        Some(claim) if !is_holder && intent != TaskWrite::AddRecord => {
            let (task, by, you) = (task.id.clone(), claim.claimant.clone(), actor.name.clone());
            Err(Refusal::NotClaimant { task, by, you, can_continue: false })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::{TaskFields, TaskState};
    use crate::domain::{SessionId, TaskId};
    use crate::env::Timestamp;

    fn actor(name: &str, epoch: Option<i64>) -> Actor {
        let session = SessionId::parse(name).ok();
        Actor { name: name.into(), session, run_id: None, role: None, lane: None, epoch }
    }

    fn held_by(name: &str, epoch: i64) -> Task {
        let now = Timestamp::from_millis(0);
        let mut task = Task {
            id: TaskId::parse("T-1").unwrap(),
            fields: TaskFields::with_title("t".into()),
            state: TaskState::Todo,
            epoch: epoch - 1,
            open_deps: 0,
            branch: None,
            commit: None,
            created_at: now,
            updated_at: now,
        };
        task.state = TaskState::InProgress(task.new_claim(&actor(name, None), now, None));
        task.epoch = epoch;
        task
    }

    #[test]
    fn claimant_writes_and_a_superseded_one_does_not() {
        let task = held_by("b", 2);
        for intent in [TaskWrite::Transition, TaskWrite::AddRecord] {
            assert_eq!(check(&task, &actor("b", None), Some(2), intent), Ok(()));
            assert_eq!(check(&task, &actor("b", Some(2)), Some(2), intent), Ok(()));
            assert_eq!(check(&task, &actor("a", None), Some(1), intent).unwrap_err().code(), "stale_claim");
            // A token from before says so even in the right hands.
            assert_eq!(check(&task, &actor("b", Some(1)), Some(2), intent).unwrap_err().code(), "stale_claim");
        }
        assert_eq!(check(&task, &actor("c", None), None, TaskWrite::AddRecord), Ok(()));
        assert_eq!(check(&task, &actor("c", None), None, TaskWrite::Transition).unwrap_err().code(), "not_claimant");
    }

    #[test]
    fn write_is_stopped_only_by_a_named_epoch() {
        let task = held_by("b", 2);
        for (name, latest) in [("a", Some(1)), ("b", Some(2)), ("c", None)] {
            assert_eq!(check(&task, &actor(name, None), latest, TaskWrite::Override), Ok(()));
            assert_eq!(check(&task, &actor(name, Some(2)), latest, TaskWrite::Override), Ok(()));
            let stale = check(&task, &actor(name, Some(1)), latest, TaskWrite::Override).unwrap_err();
            assert_eq!(stale.code(), "stale_claim");
        }
    }

    #[test]
    fn losing_the_claim_outlives_the_next_holder() {
        let mut task = held_by("b", 2);
        task.state = TaskState::Done(Timestamp::from_millis(1));
        assert_eq!(check(&task, &actor("a", None), Some(1), TaskWrite::Transition).unwrap_err().code(), "stale_claim");
        assert_eq!(check(&task, &actor("a", None), Some(1), TaskWrite::AddRecord).unwrap_err().code(), "stale_claim");
        assert_eq!(check(&task, &actor("a", None), Some(1), TaskWrite::Cancel), Ok(()));
        assert_eq!(check(&task, &actor("b", None), Some(2), TaskWrite::AddRecord), Ok(()));
    }

    #[test]
    fn former_claimant_may_still_add_records() {
        let task = held_by("b", 2);
        let person = actor("ann@host", None);
        assert_eq!(person.session, None);
        assert_eq!(check(&task, &person, Some(1), TaskWrite::AddRecord), Ok(()));
        assert_eq!(check(&task, &person, Some(1), TaskWrite::Transition).unwrap_err().code(), "stale_claim");
    }
}
