//! The rules for the answer to a handoff, and for the move of the claim by its acceptance.

use crate::domain::claim::Takeover;
use crate::domain::handoff::{Handoff, HandoffStatus};
use crate::domain::task::{Task, TaskState};
use crate::domain::{Actor, LaneName, Refusal, Role};

/// Checks that a handoff is open and that an actor of this role and lane may answer it. An actor without a role may answer for
/// every role, and one without a lane for every lane.
/// Fails with `already_answered`, `role_mismatch`, `lane_mismatch`.
pub fn check_answerable(handoff: &Handoff, role: Option<&Role>, lane: Option<&LaneName>) -> Result<(), Refusal> {
    if handoff.status != HandoffStatus::Open {
        return Err(Refusal::AlreadyAnswered { noun: "handoff", id: handoff.id, status: handoff.status.as_str() });
    }
    if let (Some(wants), Some(have)) = (&handoff.to_role, role)
        && wants != have
    {
        let (id, wants, have) = (handoff.id, wants.to_string(), have.to_string());
        return Err(Refusal::HandoffForRole { id, wants, have });
    }
    if let (Some(wants), Some(have)) = (&handoff.to_lane, lane)
        && wants != have
    {
        let (id, wants, have) = (handoff.id, wants.to_string(), have.to_string());
        return Err(Refusal::HandoffForLane { id, wants, have });
    }
    Ok(())
}

/// The takeover by which accepting the handoff moves the claim to `actor`, who acts in `role`. `first_epoch` is the epoch of the
/// first claim in the unbroken chain of continuations that ends with the task's claim. Lanes and dependencies are judged by the
/// rules of `claim`.
///
/// # Errors
/// `stale_claim` when the handoff or the actor names an older epoch, `wrong_state` for a closed task, `already_yours` when the
/// actor has the claim in this role, and `already_claimed` when the actor made the handoff and another claimant has the task.
pub fn claim_takeover(
    handoff: &Handoff,
    task: &Task,
    first_epoch: i64,
    actor: &Actor,
    role: Option<&Role>,
) -> Result<Takeover, Refusal> {
    if let Some(epoch) = actor.epoch
        && epoch != task.epoch
    {
        let by = task.state.claim().map(|claim| claim.claimant.clone());
        return Err(Refusal::StaleClaim { task: task.id.clone(), yours: epoch, current: task.epoch, by });
    }
    if handoff.epoch != task.epoch && !(task.state.claim().is_some() && handoff.epoch >= first_epoch) {
        let by = task.state.claim().map(|claim| claim.claimant.clone());
        let (id, made, current) = (handoff.id, handoff.epoch, task.epoch);
        return Err(Refusal::StaleHandoff { id, task: task.id.clone(), made, current, by });
    }
    match &task.state {
        TaskState::Done(_) | TaskState::Cancelled(_) => {
            Err(Refusal::WrongState { task: task.id.clone(), status: task.state.status(), verb: "claimed" })
        }
        TaskState::Todo => Ok(Takeover::HandedOver { from: None }),
        TaskState::InProgress(claim) | TaskState::Blocked(claim, _) | TaskState::Review(claim) => {
            // One person in two roles hands over to themselves; in one role there is nothing to hand over.
            if actor.is_named(&claim.claimant) && claim.role.as_ref() == role {
                return Err(Refusal::AlreadyClaimedByYou { task: task.id.clone(), epoch: claim.epoch });
            }
            if actor.is_named(&handoff.from_actor) && !actor.is_named(&claim.claimant) {
                let (by, since) = (claim.claimant.clone(), claim.claimed_at);
                return Err(Refusal::AlreadyClaimed { task: task.id.clone(), by, since });
            }
            Ok(Takeover::HandedOver { from: Some(claim.claimant.clone()) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::TaskFields;
    use crate::domain::{SessionId, TaskId};
    use crate::env::Timestamp;

    const NOW: Timestamp = Timestamp::from_millis(0);

    fn actor(name: &str) -> Actor {
        let session = SessionId::parse(name).ok();
        Actor { name: name.into(), session, run_id: None, role: None, lane: None, epoch: None }
    }

    fn held_by(name: &str) -> Task {
        let mut task = Task {
            id: TaskId::parse("T-1").unwrap(),
            fields: TaskFields::with_title("t".into()),
            state: TaskState::Todo,
            epoch: 1,
            open_deps: 0,
            branch: None,
            commit: None,
            created_at: NOW,
            updated_at: NOW,
        };
        let claim = task.new_claim(&actor(name), NOW, None);
        task.epoch = claim.epoch;
        task.state = TaskState::InProgress(claim);
        task
    }

    fn handoff(from: &str, epoch: i64) -> Handoff {
        Handoff {
            id: 1,
            task: TaskId::parse("T-1").unwrap(),
            from_role: None,
            from_actor: from.into(),
            to_role: Some(Role::parse("frontend").unwrap()),
            to_lane: None,
            status: HandoffStatus::Open,
            summary: "s".into(),
            payload: None,
            epoch,
            created_at: NOW,
            answered_at: None,
            answered_by: None,
        }
    }

    #[test]
    fn handoff_is_for_the_role_and_lane_that_it_names() {
        let (frontend, backend) = (Role::parse("frontend").unwrap(), Role::parse("backend").unwrap());
        let given = handoff("a", 2);
        assert_eq!(check_answerable(&given, Some(&frontend), None), Ok(()));
        assert_eq!(check_answerable(&given, None, None), Ok(()));
        assert_eq!(check_answerable(&given, Some(&backend), None).unwrap_err().code(), "role_mismatch");
        let lane = LaneName::parse("ui").unwrap();
        let to_lane = Handoff { to_role: None, to_lane: Some(lane.clone()), ..handoff("a", 2) };
        assert_eq!(check_answerable(&to_lane, Some(&backend), Some(&lane)), Ok(()));
        let other = LaneName::parse("db").unwrap();
        assert_eq!(check_answerable(&to_lane, None, Some(&other)).unwrap_err().code(), "lane_mismatch");
        let answered = Handoff { status: HandoffStatus::Declined, ..handoff("a", 2) };
        assert_eq!(check_answerable(&answered, Some(&frontend), None).unwrap_err().code(), "already_answered");
    }

    #[test]
    fn handoff_moves_the_claim_under_its_epoch_and_not_to_the_offerer() {
        let task = held_by("a");
        let from_a = Takeover::HandedOver { from: Some("a".into()) };
        assert_eq!(claim_takeover(&handoff("a", 2), &task, 2, &actor("b"), None), Ok(from_a.clone()));
        // A coordinator may offer another's task to a third.
        assert_eq!(claim_takeover(&handoff("lead", 2), &task, 2, &actor("b"), None), Ok(from_a));
        let code = |handoff: &Handoff, who: &Actor| claim_takeover(handoff, &task, 2, who, None).unwrap_err().code();
        assert_eq!(code(&handoff("b", 2), &actor("b")), "already_claimed");
        assert_eq!(code(&handoff("a", 1), &actor("b")), "stale_claim");
        assert_eq!(code(&handoff("a", 2), &actor("a")), "already_yours");
        assert_eq!(code(&handoff("a", 2), &Actor { epoch: Some(1), ..actor("b") }), "stale_claim");
        let closed = Task { state: TaskState::Done(NOW), ..held_by("a") };
        assert_eq!(claim_takeover(&handoff("a", 2), &closed, 2, &actor("b"), None).unwrap_err().code(), "wrong_state");
        let free = Task { state: TaskState::Todo, ..held_by("a") };
        assert_eq!(
            claim_takeover(&handoff("a", 2), &free, 2, &actor("b"), None),
            Ok(Takeover::HandedOver { from: None })
        );
        // The claim of epoch 1 was continued: its handoff still moves the task.
        assert!(claim_takeover(&handoff("a", 1), &task, 1, &actor("b"), None).is_ok());
        let stale = claim_takeover(&handoff("a", 1), &free, 1, &actor("b"), None);
        assert_eq!(stale.unwrap_err().code(), "stale_claim");
    }
}
